#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "enforcers/archive/tar_writer.h"
#include "enforcers/path_jail/accept.h"
#include "enforcers/path_jail/enforcer.h"
#include "enforcers/path_jail/pack.h"
#include "enforcers/path_jail/publish.h"
#include "enforcers/path_jail/survey.h"
#include "policy/path_rules.h"
#include "tests/enforcers/archive/string_stream.h"
#include "tests/enforcers/questions.h"
#include "tests/enforcers/scratch_posix.h"

namespace enforcers {
namespace {

using policy::GuestPath;
using policy::HostPath;
using policy::Proofs;

const policy::SandboxId kSandbox = policy::SandboxId::random();

HostPath host(const std::string& text) { return *HostPath::parse(text); }
GuestPath guest(const std::string& text) { return *GuestPath::parse(text); }
std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

class CopyTest : public testing::Test {
 protected:
  CopyTest() : jail_(*Jail::open(scratch_.root())), enforcer_(jail_) {
    scratch_.write("out/secret", "outside");
    outside_ = scratch_.listing("out");
  }
  ~CopyTest() override { EXPECT_EQ(scratch_.listing("out"), outside_) << "something outside changed"; }

  // The code of the objection, or `ok`.
  std::string check(policy::Action action) {
    const auto objection = enforcer_.check(question(std::move(action)), {}, proofs_);
    return objection ? objection->code : "ok";
  }

  // Packs a host path as the gateway does; the tar's bytes, or the error's code.
  std::string copy_in(const std::string& path, const std::function<void()>& meanwhile = [] {}) {
    const auto tree = survey(*jail_, host(path), CopyLimits{});
    if (!tree) return tree.error().code;
    if (const auto code = check(policy::CopyIn{kSandbox, host(path), guest("/g"), tree->survey});
        code != "ok") {
      return code;
    }
    meanwhile();
    const Descriptor tar(empty_file());
    const auto packed = pack(*proofs_.find<SourceProof>(), *tree, tar.number(), soon());
    return packed ? content_of(tar.number()) : packed.error().code;
  }

  policy::Result<Accepted> fetch(const std::string& tar, const TarRules& rules = {}) {
    EXPECT_EQ(check(policy::FetchOut{kSandbox, guest("/g"), host("dest")}), "ok");
    const Descriptor file(file_with(tar));
    return accept(*proofs_.find<FetchProof>(), file.number(), rules, soon());
  }

  // The whole of copy_out; the published path, or the error's code.
  std::string copy_out(const std::string& tar, const std::string& to,
                       const std::string& from = "/home/agent/g",
                       OnConflict on_conflict = OnConflict::replace) {
    const auto accepted = fetch(tar);
    if (!accepted) return accepted.error().code;
    if (const auto code = check(policy::PublishOut{kSandbox, guest(from), host(to), accepted->survey});
        code != "ok") {
      return code;
    }
    const auto published = publish(*proofs_.find<PublishProof>(), *accepted, on_conflict);
    last_ = published.value_or(Published{});
    return published ? published->path : published.error().code;
  }

  // A folder's tar: `name/` is a folder, anything else a file that holds its own name.
  static std::string folder_tar(const std::vector<std::string>& names) {
    StringSink sink;
    TarWriter tar(sink);
    EXPECT_TRUE(tar.folder(".", 0));
    for (const auto& name : names) {
      if (name.ends_with('/')) {
        EXPECT_TRUE(tar.folder("./" + name.substr(0, name.size() - 1), 0));
      } else {
        EXPECT_TRUE(tar.file("./" + name, name.size(), 1'700'000'000, name.ends_with(".sh")));
        EXPECT_TRUE(tar.content(name));
      }
    }
    EXPECT_TRUE(tar.finish());
    return sink.bytes;
  }
  static std::string file_tar(const std::string& name, const std::string& content) {
    StringSink sink;
    TarWriter tar(sink);
    EXPECT_TRUE(tar.file(name, content.size(), 1'700'000'000, false));
    EXPECT_TRUE(tar.content(content));
    EXPECT_TRUE(tar.finish());
    return sink.bytes;
  }

  Scratch scratch_;
  std::shared_ptr<const Jail> jail_;
  PathJail enforcer_;
  Proofs proofs_;
  Published last_;
  std::vector<std::string> outside_;
};

TEST_F(CopyTest, AFolderGoesInAndComesOutAsItWas) {
  scratch_.write("root/src/a.txt", std::string(100'000, 'a'));
  scratch_.write("root/src/bin/run.sh", "#!/bin/sh\n", 0755);
  scratch_.write("root/src/-rf caf\xc3\xa9", "odd");
  scratch_.write("root/src/" + std::string(120, 'd') + "/" + std::string(200, 'f'), "long");
  scratch_.folder("root/src/empty");
  const std::string tar = copy_in("src");
  EXPECT_EQ(copy_out(tar, "back/again"), "back/again");
  EXPECT_EQ(last_.files, 4U);
  EXPECT_EQ(scratch_.read("root/back/again/a.txt"), std::string(100'000, 'a'));
  EXPECT_EQ(scratch_.mode("root/back/again/bin/run.sh"), 0755U);
  EXPECT_EQ(scratch_.mode("root/back/again/a.txt"), 0644U);
  EXPECT_EQ(scratch_.mode("root/back/again/empty"), 0755U);
  EXPECT_EQ(scratch_.read("root/back/again/-rf caf\xc3\xa9"), "odd");
  EXPECT_EQ(scratch_.read("root/back/again/" + std::string(120, 'd') + "/" + std::string(200, 'f')), "long");
  EXPECT_EQ(survey(*jail_, host("back/again"), {})->survey.manifest,
            survey(*jail_, host("src"), {})->survey.manifest);
}

TEST_F(CopyTest, AFileGoesInAsOneEntry) {
  scratch_.write("root/d/a.sh", "content", 0700);
  StringSource source(copy_in("d/a.sh"));
  const std::string tar = copy_in("d/a.sh");
  StringSource again(tar);
  TarReader reader(again, TarRules{});
  const auto entry = reader.next();
  ASSERT_TRUE(entry && *entry);
  EXPECT_EQ((*entry)->path, "a.sh");
  EXPECT_TRUE((*entry)->executable);
  EXPECT_EQ(*reader.read(), "content");
  EXPECT_FALSE(*reader.next());
}

TEST_F(CopyTest, NothingGoesInThroughALinkOrFromASpecialFile) {
  scratch_.write("root/good/a", "x");
  EXPECT_GT(copy_in("good").size(), 512U);
  scratch_.link("root/linked/deep/l", scratch_.path("out/secret"));
  EXPECT_EQ(copy_in("linked"), "path.link");
  scratch_.link("root/inner/l", "a");
  EXPECT_EQ(copy_in("inner"), "path.link");
  scratch_.folder("root/hard");
  scratch_.hard_link("root/hard/h", "out/secret");
  EXPECT_EQ(copy_in("hard"), "path.hard_link");
  ASSERT_EQ(::unlink(scratch_.path("root/hard/h").c_str()), 0);
  scratch_.folder("root/pipe");
  scratch_.fifo("root/pipe/p");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(copy_in("pipe"), "path.special");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  scratch_.folder("root/sock");
  scratch_.socket("root/sock/s");
  EXPECT_EQ(copy_in("sock"), "path.special");
  scratch_.write("root/names/a\nb", "x");
  EXPECT_EQ(copy_in("names"), "path.control");
  scratch_.write("root/bytes/a\xff", "x");
  EXPECT_EQ(copy_in("bytes"), "path.encoding");
  EXPECT_EQ(copy_in("none"), "path.not_found");
}

TEST_F(CopyTest, SurveysHaveLimits) {
  scratch_.write("root/d/a", "1234");
  scratch_.write("root/d/b", "1234");
  const auto code = [&](CopyLimits limits) {
    const auto tree = survey(*jail_, host("d"), limits);
    return tree ? "ok" : tree.error().code;
  };
  EXPECT_EQ(code({.files = 2, .file_bytes = 4, .total_bytes = 8}), "ok");
  EXPECT_EQ(code({.files = 1, .file_bytes = 4, .total_bytes = 8}), "copy.too_many_files");
  EXPECT_EQ(code({.files = 2, .file_bytes = 3, .total_bytes = 8}), "copy.file_too_big");
  EXPECT_EQ(code({.files = 2, .file_bytes = 4, .total_bytes = 7}), "copy.too_big");
  std::string deep = "root/e";
  for (int i = 1; i < 66; ++i) deep += "/d";
  scratch_.folder(deep);
  EXPECT_EQ(survey(*jail_, host("e"), {}).error().code, "path.too_deep");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(survey(*jail_, host("d"), {}, stop.get_token()).error().code, "cancelled");
}

TEST_F(CopyTest, WhatChangedAfterItWasJudgedIsNotPacked) {
  scratch_.write("root/d/a", "before");
  scratch_.write("root/d/b", "before");
  EXPECT_EQ(copy_in("d", [&] { scratch_.write("root/d/b", "behind"); }), "copy.changed");
  EXPECT_EQ(copy_in("d", [&] { scratch_.write("root/d/b", "longer than before"); }), "copy.changed");
  EXPECT_EQ(copy_in("d", [&] { ASSERT_EQ(::unlink(scratch_.path("root/d/a").c_str()), 0); }), "copy.changed");
  scratch_.write("root/d/a", "before");
  EXPECT_EQ(copy_in("d",
                    [&] {
                      ASSERT_EQ(::unlink(scratch_.path("root/d/a").c_str()), 0);
                      scratch_.link("root/d/a", scratch_.path("out/secret"));
                    }),
            "copy.changed");
  // A survey of something else than what was granted.
  scratch_.write("root/e/a", "other");
  const auto tree = survey(*jail_, host("e"), {});
  ASSERT_TRUE(tree);
  EXPECT_EQ(check(policy::CopyIn{kSandbox, host("e"), guest("/g"), policy::Survey{}}), "ok");
  const Descriptor tar(empty_file());
  EXPECT_EQ(pack(*proofs_.find<SourceProof>(), *tree, tar.number(), soon()).error().code, "copy.changed");
}

TEST_F(CopyTest, AFileComesOutUnderTheGivenNameOrIntoAFolder) {
  EXPECT_EQ(copy_out(file_tar("g", "one"), "new/dir/report.txt"), "new/dir/report.txt");
  EXPECT_EQ(scratch_.read("root/new/dir/report.txt"), "one");
  EXPECT_EQ(copy_out(file_tar("evil-name", "two"), "new", "/home/agent/r.txt"), "new/r.txt");
  EXPECT_EQ(scratch_.read("root/new/r.txt"), "two");
  EXPECT_EQ(copy_out(file_tar("g", "three"), "made/", "/home/agent/r.txt"), "made/r.txt");
  EXPECT_EQ(copy_out(file_tar("g", "four"), "new/r.txt"), "new/r.txt");
  EXPECT_EQ(last_.replaced, 1U);
  EXPECT_EQ(scratch_.read("root/new/r.txt"), "four");
  EXPECT_EQ(copy_out(file_tar("g", "five"), "new/r.txt/"), "path.not_folder");
  EXPECT_EQ(copy_out(file_tar("g", "five"), "new", "/home/agent/dir"), "path.type");
  EXPECT_EQ(copy_out(file_tar("g", "five"), "new", "/home/agent/nul"), "path.name");
  EXPECT_EQ(copy_out(file_tar("g", "five"), "new/r.txt", "/g", OnConflict::refuse), "path.exists");
  EXPECT_EQ(scratch_.read("root/new/r.txt"), "four");
  EXPECT_EQ(check(policy::FetchOut{kSandbox, guest("/g"), host(".")}), "path.root");
}

TEST_F(CopyTest, AFolderMergesAndReplacesSameNamedFiles) {
  scratch_.write("root/dest/keep", "kept");
  scratch_.write("root/dest/sub/a", "old", 0600);
  EXPECT_EQ(copy_out(folder_tar({"sub/", "sub/a", "sub/new/b.sh", "c"}), "dest"), "dest");
  EXPECT_EQ(last_.files, 3U);
  EXPECT_EQ(last_.replaced, 1U);
  EXPECT_EQ(scratch_.read("root/dest/keep"), "kept");
  EXPECT_EQ(scratch_.read("root/dest/sub/a"), "sub/a");
  EXPECT_EQ(scratch_.mode("root/dest/sub/new/b.sh"), 0755U);
  EXPECT_EQ(scratch_.read("root/dest/c"), "c");
  EXPECT_EQ(copy_out(folder_tar({"x"}), "dest", "/g", OnConflict::refuse), "path.exists");
  EXPECT_EQ(copy_out(folder_tar({}), "empty"), "empty");
  EXPECT_EQ(scratch_.mode("root/empty"), 0755U);
}

TEST_F(CopyTest, ReplacingNeverWritesThroughALinkOrAHardLink) {
  scratch_.folder("root/dest/sub");
  scratch_.hard_link("root/dest/h", "out/secret");
  EXPECT_EQ(copy_out(folder_tar({"h"}), "dest"), "dest");
  EXPECT_EQ(scratch_.read("root/dest/h"), "h");
  EXPECT_EQ(scratch_.read("out/secret"), "outside");

  scratch_.link("root/dest/l", scratch_.path("out/secret"));
  scratch_.link("root/dest/d", scratch_.path("out"));
  scratch_.link("root/dest/dangling", scratch_.path("out/new"));
  scratch_.fifo("root/dest/pipe");
  const auto before = scratch_.listing("root");
  EXPECT_EQ(copy_out(folder_tar({"a", "l"}), "dest"), "path.link");
  EXPECT_EQ(copy_out(folder_tar({"a", "dangling"}), "dest"), "path.link");
  EXPECT_EQ(copy_out(folder_tar({"a", "d/x"}), "dest"), "path.link");
  EXPECT_EQ(copy_out(folder_tar({"a", "d/"}), "dest"), "path.link");
  EXPECT_EQ(copy_out(folder_tar({"a", "pipe"}), "dest"), "path.special");
  EXPECT_EQ(copy_out(folder_tar({"a", "sub"}), "dest"), "path.type") << "a file over a folder";
  EXPECT_EQ(copy_out(folder_tar({"a", "h/"}), "dest"), "path.type") << "a folder over a file";
  EXPECT_EQ(copy_out(folder_tar({"a", "h/b"}), "dest"), "path.type");
  EXPECT_EQ(copy_out(folder_tar({"a"}), "dest/h"), "path.type");
  EXPECT_EQ(copy_out(file_tar("g", "x"), "dest/l"), "path.link");
  EXPECT_EQ(copy_out(file_tar("g", "x"), "dest/d/x"), "path.link");
  EXPECT_EQ(copy_out(file_tar("g", "x"), "dest/h/x"), "path.not_folder");
  EXPECT_EQ(scratch_.listing("root"), before) << "refused means unchanged";
}

TEST_F(CopyTest, EveryHostileArchiveLeavesTheFolderAsItWas) {
  scratch_.write("root/dest/keep", "kept");
  const std::string folder = SALLYPORT_SOURCE_DIR "/tests/data/archives/";
  const auto before = scratch_.listing("root");
  std::ifstream in(folder + "manifest.json");
  const auto rows = nlohmann::json::parse(in);
  int refused = 0;
  for (const auto& row : rows) {
    const std::string name = row["file"];
    SCOPED_TRACE(name);
    std::ifstream file(folder + name, std::ios::binary);
    const std::string tar{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const TarRules strict{.limits = {}, .links = OnFault::reject, .invalid_names = OnFault::reject};
    const auto accepted = fetch(tar, strict);
    EXPECT_EQ(accepted.has_value(), row["expect"].get<std::string>().starts_with("accept"));
    if (accepted) {
      for (const auto& entry : row["entries"]) {
        if (entry["type"] != "file") continue;
        const auto found =
            std::find_if(accepted->files.begin(), accepted->files.end(),
                         [&](const auto& copied) { return copied.path == entry["path"].get<std::string>(); });
        ASSERT_NE(found, accepted->files.end()) << entry;
        EXPECT_EQ(found->digest.hex(), entry["sha256"].get<std::string>());
        EXPECT_EQ(found->executable, entry["exec"].get<bool>());
      }
      continue;
    }
    ++refused;
    EXPECT_EQ(scratch_.listing("root"), before);
  }
  EXPECT_EQ(refused, 62);
  EXPECT_EQ(scratch_.listing("root"), before) << "staging goes away with what was accepted";
}

TEST_F(CopyTest, LeavesOutLinksAndSaysSo) {
  std::ifstream file(SALLYPORT_SOURCE_DIR "/tests/data/archives/symlink-inside.tar", std::ios::binary);
  const std::string tar{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto accepted = fetch(tar);
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->skipped.count, 1U);
  EXPECT_EQ(accepted->skipped.by_class.at("symlink"), 1U);
  ASSERT_EQ(accepted->skipped.names.size(), 1U);
  EXPECT_EQ(accepted->skipped.names[0].first, "cur");
}

TEST_F(CopyTest, GivesUpAtTheDeadlineAndWhenStopped) {
  ASSERT_EQ(check(policy::FetchOut{kSandbox, guest("/g"), host("dest")}), "ok");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor in(ends[0]);
  const Descriptor out(ends[1]);
  const auto late = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(accept(*proofs_.find<FetchProof>(), in.number(), {}, late).error().code, "timeout");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(accept(*proofs_.find<FetchProof>(), in.number(), {}, soon(), stop.get_token()).error().code,
            "cancelled");
  EXPECT_TRUE(scratch_.listing("root").empty());
}

TEST_F(CopyTest, PublishesOnlyWhatWasGranted) {
  const auto accepted = fetch(file_tar("g", "accepted"));
  ASSERT_TRUE(accepted);
  ASSERT_EQ(check(policy::PublishOut{kSandbox, guest("/g"), host("dest"), policy::Survey{}}), "ok");
  EXPECT_EQ(publish(*proofs_.find<PublishProof>(), *accepted).error().code, "copy.changed");
}

TEST_F(CopyTest, SweepsStagingOfTheDeadAndLeavesTheLiving) {
  const auto accepted = fetch(file_tar("g", "x"));
  ASSERT_TRUE(accepted);
  scratch_.write("root/.sallyport-staging-dead/content/deep/f", "left behind");
  scratch_.link("root/.sallyport-staging-dead/l", scratch_.path("out"));
  scratch_.link("root/.sallyport-staging-link", scratch_.path("out"));
  const auto removed = sweep_staging(*jail_);
  ASSERT_TRUE(removed);
  EXPECT_EQ(*removed, 1U);
  EXPECT_EQ(scratch_.read("root/.sallyport-staging-dead/content/deep/f"), "(none)");
}

TEST_F(CopyTest, StagingIsPrivateAndNotCopied) {
  scratch_.write("root/a", "x");
  const auto accepted = fetch(file_tar("g", "unaccepted"));
  ASSERT_TRUE(accepted);
  const auto tree = survey(*jail_, host("."), {});
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->survey.files, 1U);
  struct stat facts{};
  ASSERT_EQ(::fstat(accepted->staging->handle().number(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0700U);
}

TEST_F(CopyTest, WritesNothingOutsideWhileTheDestinationIsExchangedWithALink) {
  scratch_.folder("root/dest/sub");
  scratch_.link("root/other", scratch_.path("out"));
  std::atomic<bool> stop{false};
  std::thread attacker([&] {
    while (!stop) scratch_.exchange("root/dest", "root/other");
  });
  int placed = 0;
  int refused = 0;
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const auto passed = std::chrono::steady_clock::now() - start;
    if (passed > std::chrono::seconds(30) || HasFailure()) break;
    if (passed > std::chrono::seconds(1) && placed > 0 && refused > 0) break;
    for (const auto& tar : {folder_tar({"a", "sub/b", "new/c"}), file_tar("g", "x")}) {
      EXPECT_EQ(check(policy::FetchOut{kSandbox, guest("/g"), host("elsewhere")}), "ok");
      const Descriptor file(file_with(tar));
      const auto accepted = accept(*proofs_.find<FetchProof>(), file.number(), {}, soon());
      EXPECT_TRUE(accepted);
      if (!accepted) break;
      const std::string code =
          check(policy::PublishOut{kSandbox, guest("/g"), host("dest/in"), accepted->survey});
      std::string result = code;
      if (code == "ok") {
        const auto published = publish(*proofs_.find<PublishProof>(), *accepted);
        result = published ? "ok" : published.error().code;
      }
      EXPECT_TRUE(result == "ok" || result == "path.link" || result == "path.type" || result == "path.busy" ||
                  result == "path.not_found" || result == "path.not_folder" || result == "path.exists")
          << result;
      ++(result == "ok" ? placed : refused);
    }
  }
  stop = true;
  attacker.join();
  EXPECT_GT(refused, 0) << "the race was never seen";
  EXPECT_GT(placed, 0) << "the race was never seen";
  EXPECT_EQ(scratch_.listing("out"), outside_) << placed << " placed, " << refused << " refused";
}

TEST(PathJailEnforcer, RefusesEveryCopyWithoutATransferFolder) {
  PathJail enforcer(nullptr,
                    policy::Error{"path.root", "the transfer folder is a link; name the real folder"});
  Proofs proofs;
  const auto objection =
      enforcer.check(question(policy::FetchOut{kSandbox, guest("/g"), host("a")}), {}, proofs);
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->code, "path.root");
  EXPECT_EQ(objection->hint, "name the real folder");
  PathJail unset(nullptr);
  EXPECT_EQ(unset.check(question(policy::CopyIn{kSandbox, host("a"), guest("/g"), {}}), {}, proofs)->code,
            "path.no_root");
  EXPECT_FALSE(unset.check(question(policy::List{}), {}, proofs));
  EXPECT_EQ(proofs.find<SourceProof>(), nullptr);
}

}  // namespace
}  // namespace enforcers
