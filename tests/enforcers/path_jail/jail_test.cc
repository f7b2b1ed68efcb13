#include "enforcers/path_jail/jail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "tests/enforcers/scratch_posix.h"

namespace enforcers {
namespace {

using policy::HostPath;
using policy::NameRules;

HostPath host(const std::string& text) { return *HostPath::parse(text, NameRules::posix); }

class JailTest : public testing::TestWithParam<Resolver> {
 protected:
  std::shared_ptr<const Jail> jail() const {
    auto opened = Jail::open(scratch_.root(), GetParam());
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened;
  }
  Scratch scratch_;
};

INSTANTIATE_TEST_SUITE_P(Each, JailTest, testing::Values(Resolver::openat2, Resolver::chain),
                         [](const auto& which) {
                           return which.param == Resolver::openat2 ? std::string("Openat2")
                                                                   : std::string("Chain");
                         });

std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == separator) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

void lay_out(const Scratch& scratch, const std::string& setup) {
  for (const auto& item : fields_of(setup, ';')) {
    const std::string name = "root/" + item.substr(2, item.find('=') - 2);
    switch (item[0]) {
      case 'd':
        scratch.folder(name);
        break;
      case 'f':
        scratch.write(name, "inside");
        break;
      case 'p':
        scratch.fifo(name);
        break;
      case 's':
        scratch.socket(name);
        break;
      case 'l': {
        std::string target = item.substr(item.find('=') + 1);
        for (const auto& [word, path] : {std::pair{"{OUT}", "out"}, std::pair{"{ROOT}", "root"}}) {
          const auto at = target.find(word);
          if (at != std::string::npos) target.replace(at, std::string(word).size(), scratch.path(path));
        }
        scratch.link(name, target);
        break;
      }
      default:
        FAIL() << setup;
    }
  }
}

TEST_P(JailTest, JudgesEveryPathOfTheTableThatNeedsADisk) {
  const std::map<std::string, std::string> codes = {{"symlink", "path.link"},
                                                    {"not-a-directory", "path.not_folder"},
                                                    {"not-found", "path.not_found"},
                                                    {"special-file", "path.special"},
                                                    {"exists", "exists"}};
  std::ifstream table(SALLYPORT_SOURCE_DIR "/tests/data/paths/path-vectors.tsv");
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto field = fields_of(line, '\t');
    if (field[1] != "posix" || field[4] == "lex") continue;
    SCOPED_TRACE(line);
    ++rows;
    const Scratch scratch;
    scratch.write("out/secret", "outside");
    lay_out(scratch, field[3]);
    const auto before = scratch.listing("");
    const auto opened = Jail::open(scratch.root(), GetParam());
    ASSERT_TRUE(opened);
    std::string verdict = "allow";
    if (field[4] == "read") {
      const auto source = (*opened)->open_source(host(field[5]));
      if (!source) verdict = source.error().code;
    } else {
      const auto place = (*opened)->find_destination(host(field[5]));
      if (!place) verdict = place.error().code;
      // The table says what holds when nothing may be replaced. A link is never followed nor replaced, and
      // the root is no destination in any case.
      if ((place && place->present) ||
          (field[7] == "exists" && (verdict == "path.link" || verdict == "path.root"))) {
        verdict = "exists";
      }
    }
    EXPECT_EQ(verdict, field[6] == "allow" ? "allow" : codes.at(field[7]));
    EXPECT_EQ(scratch.listing(""), before) << "looking changes nothing";
  }
  EXPECT_EQ(rows, 33);
}

TEST_P(JailTest, RefusesAFileThatHasAnotherName) {
  scratch_.write("out/secret", "outside");
  scratch_.hard_link("root/alias", "out/secret");
  EXPECT_EQ(jail()->open_source(host("alias")).error().code, "path.hard_link");
  scratch_.write("root/plain", "x");
  EXPECT_TRUE(jail()->open_source(host("plain")));
}

TEST_P(JailTest, RefusesMountsBelowTheRoot) {
  const auto jail = Jail::open("/", GetParam());
  if (!jail) GTEST_SKIP() << jail.error().message;
  EXPECT_EQ((*jail)->open_source(host("proc/version")).error().code, "path.mount");
}

TEST_P(JailTest, NoticesThatTheRootWasReplaced) {
  const auto jail = this->jail();
  scratch_.write("root/f", "x");
  EXPECT_TRUE(jail->open_source(host("f")));
  scratch_.write("other/f", "y");
  scratch_.exchange("root", "other");
  EXPECT_EQ(jail->open_source(host("f")).error().code, "path.root_changed");
  EXPECT_EQ(jail->find_destination(host("g")).error().code, "path.root_changed");
}

TEST(Jail, RefusesRootsThatOthersCouldWriteToOrReplace) {
  const Scratch scratch;
  EXPECT_TRUE(Jail::open(scratch.root() + "/"));
  EXPECT_EQ(Jail::open("relative").error().code, "path.root");
  EXPECT_EQ(Jail::open(scratch.path("none")).error().code, "path.root");
  scratch.write("file", "x");
  EXPECT_EQ(Jail::open(scratch.path("file")).error().code, "path.root");
  scratch.link("link", scratch.root());
  EXPECT_NE(Jail::open(scratch.path("link")).error().message.find("is a link"), std::string::npos);
  ASSERT_EQ(::chmod(scratch.root().c_str(), 0775), 0);
  EXPECT_NE(Jail::open(scratch.root()).error().message.find("chmod go-w"), std::string::npos);
}

TEST(Jail, FindsFoldersThatLieInOneAnotherByWhatTheyAre) {
  const Scratch scratch;
  scratch.folder("root/a/b");
  scratch.folder("root-evil");
  scratch.link("alias", scratch.path("root/a"));
  const auto overlaps = [&](const std::string& a, const std::string& b) {
    const auto answer = overlap(scratch.path(a), scratch.path(b));
    EXPECT_TRUE(answer);
    return answer.value_or(true);
  };
  EXPECT_TRUE(overlaps("root", "root"));
  EXPECT_TRUE(overlaps("root", "root/a/b"));
  EXPECT_TRUE(overlaps("root/a/b", "root"));
  EXPECT_TRUE(overlaps("root", "alias"));
  EXPECT_TRUE(overlaps("alias", "root"));
  EXPECT_FALSE(overlaps("root", "root-evil"));
  EXPECT_FALSE(overlaps("out", "root/a"));
  EXPECT_FALSE(overlap(scratch.path("none"), scratch.root()));
}

// Makes the kernel answer `error` to openat2 from now on, in this process.
void forbid_openat2(int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(90);
  }
}

TEST(Jail, FallsBackToOneNameAtATimeWhereOpenat2IsMissing) {
  const Scratch scratch;
  scratch.write("root/d/f", "inside");
  scratch.write("out/f", "outside");
  scratch.link("root/l", scratch.path("out"));
  for (const int error : {ENOSYS, EPERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      forbid_openat2(error);
      const auto jail = Jail::open(scratch.root());
      if (!jail || (*jail)->resolver() != Resolver::chain) ::_exit(1);
      if (!(*jail)->open_source(host("d/f"))) ::_exit(2);
      const auto linked = (*jail)->open_source(host("l/f"));
      ::_exit(!linked && linked.error().code == "path.link" ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "with errno " << error;
  }
  EXPECT_EQ((*Jail::open(scratch.root()))->resolver(), Resolver::openat2);
}

// What a resolver that looks first and opens afterwards would do.
std::string naive_read(const std::string& root, const std::string& path) {
  char real[PATH_MAX];
  if (::realpath((root + "/" + path).c_str(), real) == nullptr) return "";
  if (!std::string(real).starts_with(root + "/")) return "";
  std::this_thread::yield();  // a busy machine would leave the attacker no turn in this gap
  const Descriptor file(::open((root + "/" + path).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  char bytes[16] = {};
  return file && ::read(file.number(), bytes, sizeof bytes - 1) > 0 ? bytes : "";
}

struct Race {
  int rounds = 0;
  int inside = 0;
  int refused = 0;
  int outside = 0;
};

// Reads d/f again and again while somebody exchanges the folder d with a link to another folder: for `least`,
// and on until `enough` says that the race was seen, but not for ever.
template <class Read, class Enough>
Race race(const Scratch& scratch, std::chrono::milliseconds least, const Read& read, const Enough& enough) {
  std::atomic<bool> stop{false};
  std::thread attacker([&] {
    while (!stop) scratch.exchange("root/d", "root/l");
  });
  Race seen;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const auto passed = std::chrono::steady_clock::now() - start;
    if (passed > std::chrono::seconds(30) || (passed > least && enough(seen))) break;
    const std::string got = read();
    ++seen.rounds;
    if (got == "inside") ++seen.inside;
    if (got == "outside") ++seen.outside;
    if (got.empty()) ++seen.refused;
  }
  stop = true;
  attacker.join();
  return seen;
}

TEST_P(JailTest, ReadsNothingOutsideWhileAFolderIsExchangedWithALink) {
  scratch_.write("root/d/f", "inside");
  scratch_.write("out/f", "outside");
  scratch_.link("root/l", scratch_.path("out"));
  const auto jail = this->jail();
  const auto path = host("d/f");
  const Race seen = race(
      scratch_, std::chrono::milliseconds(700),
      [&]() -> std::string {
        const auto source = jail->open_source(path);
        if (!source) {
          EXPECT_TRUE(source.error().code == "path.link" || source.error().code == "path.busy" ||
                      source.error().code == "path.not_found" || source.error().code == "path.not_folder")
              << source.error().code;
          return "";
        }
        char bytes[16] = {};
        return ::read(source->handle.number(), bytes, sizeof bytes - 1) > 0 ? bytes : "";
      },
      [](const Race& so_far) {
        return so_far.inside * 100 > so_far.rounds && so_far.refused * 100 > so_far.rounds;
      });
  EXPECT_EQ(seen.outside, 0);
  EXPECT_EQ(seen.inside + seen.refused, seen.rounds);
  EXPECT_GT(seen.inside * 100, seen.rounds) << "the race was never in one state: " << seen.refused;
  EXPECT_GT(seen.refused * 100, seen.rounds) << "the race was never in the other state: " << seen.inside;
}

TEST(Jail, TheRaceCatchesAResolverThatLooksFirst) {
  const Scratch scratch;
  scratch.write("root/d/f", "inside");
  scratch.write("out/f", "outside");
  scratch.link("root/l", scratch.path("out"));
  const Race seen = race(
      scratch, std::chrono::milliseconds(0), [&] { return naive_read(scratch.root(), "d/f"); },
      [](const Race& so_far) { return so_far.outside > 0; });
  EXPECT_GT(seen.outside, 0) << "the race above shows nothing";
}

}  // namespace
}  // namespace enforcers
