#include <charconv>
#include <cstdio>
#include <filesystem>

#include "audit/show.h"
#include "audit/verify.h"
#include "gateway/cli/client.h"
#include "gateway/cli/commands.h"
#include "gateway/settings/field.h"
#include "gateway/tools/table.h"

namespace gateway::cli {
namespace {

// The folder named, else that of the settings. Reviewing needs no owner and no other setting.
std::string log_folder(const Sources& sources, const std::string& named) {
  return named.empty() ? load_settings(sources).audit() : named;
}

void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

int audit_verify(const Sources& sources, const std::string& folder, const std::vector<std::string>& anchors,
                 bool json) {
  audit::VerifyOptions options;
  for (const auto& anchor : anchors) {
    const auto colon = anchor.find(':');
    std::uint64_t seq = 0;
    const auto* end = anchor.data() + std::min(colon, anchor.size());
    if (colon == std::string::npos || std::from_chars(anchor.data(), end, seq).ptr != end ||
        anchor.size() - colon != 65) {
      std::fprintf(stderr, "sallyport: an anchor is `<seq>:<64 hex digits>`\n");
      return 2;
    }
    options.anchors.push_back({seq, anchor.substr(colon + 1)});
  }
  const auto report = audit::verify(log_folder(sources, folder), options);
  if (json) {
    put(policy::canonical(audit::to_json(report)) + "\n");
  } else {
    put(audit::to_text(report));
  }
  return audit::exit_code(report.verdict);
}

int audit_show(const Sources& sources, const std::string& folder, const std::string& what, ShowAs form) {
  audit::Selection selection = audit::LastRecords{};
  if (what.starts_with("call-")) {
    selection = audit::ByCall{what};
  } else if (!what.empty()) {
    const bool last = what.starts_with("last:");
    const std::string_view digits = std::string_view(what).substr(last ? 5 : 0);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      std::fprintf(stderr, "sallyport: name a record's number, `last:<count>`, or a call's id\n");
      return 2;
    }
    if (last) {
      selection =
          audit::LastRecords{static_cast<std::size_t>(std::min<std::uint64_t>(number, audit::kMaxShown))};
    } else {
      selection = audit::BySeq{number};
    }
  }
  const auto as = form == ShowAs::raw    ? audit::ShowForm::raw
                  : form == ShowAs::json ? audit::ShowForm::json
                                         : audit::ShowForm::text;
  const auto shown = audit::show(log_folder(sources, folder), selection, as, put);
  if (!shown) return complain(shown.error());
  return 0;
}

int tools(ToolsForm form) {
  switch (form) {
    case ToolsForm::markdown:
      put(gateway::tools::markdown());
      break;
    case ToolsForm::json:
      put(gateway::tools::list_json() + "\n");
      break;
    case ToolsForm::digest:
      put(gateway::tools::digest().hex() + "\n");
      break;
    case ToolsForm::table:
      for (const auto& tool : gateway::tools::all()) {
        if (tool.visibility != gateway::tools::Visibility::everyone) continue;
        std::printf("%-20s %s\n", std::string(tool.name).c_str(), std::string(tool.title).c_str());
      }
      break;
  }
  return 0;
}

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

int settings_reference() {
  put(settings_markdown());
  return 0;
}

}  // namespace gateway::cli
