#include "policy/regex_places.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace policy {
namespace {

using Kind = RegexTree::Kind;
using Place = RegexPlaces::Place;

// A node of the expression with its repetitions written out. `next` and `other` are ways on that take
// nothing; a place takes a code point first.
struct Node {
  enum class Is : std::uint8_t { place, fork, begin, end, matched } is;
  std::uint32_t next;
  std::uint32_t other = 0;
  Place place = 0;
};

class Unroller {
 public:
  Unroller(const RegexTree& tree, Steps& steps) : tree_(tree), steps_(steps) {}

  bool run() {
    places_.set_of.assign(2, 0);
    places_.sets.emplace_back();
    known_.emplace(CodePoints{}, 0);
    const auto matched = add({Node::Is::matched, 0});
    const auto start = emit(tree_.root, *matched);
    if (!start) return false;
    at_.resize(places_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].is == Node::Is::place) at_[nodes_[i].place] = i;
    }
    places_.next.resize(places_.size());
    seen_.assign(nodes_.size(), {});
    for (std::size_t place = 2; place < places_.size(); ++place) {
      auto follow = reach(nodes_[at_[place]].next, Where::inside);
      if (!follow) return false;
      places_.next[place] = std::move(*follow);
    }
    auto first = reach(*start, Where::begin);
    auto inside = reach(*start, Where::inside);
    if (!first || !inside) return false;
    places_.first = std::move(*first);
    places_.first_if_inside = std::move(*inside);
    return true;
  }
  RegexPlaces take() { return std::move(places_); }

 private:
  using At = std::optional<std::uint32_t>;  // nothing: too large
  enum class Where { begin, inside };
  struct Seen {
    std::uint32_t round = 0;
    bool past_end = true;  // only reached where the text ends
  };

  At add(Node node) {
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // Builds backwards: what comes after is there already.
  At emit(std::uint32_t index, std::uint32_t next) {
    if (!steps_.take(1)) return std::nullopt;
    const auto& node = tree_.nodes[index];
    switch (node.kind) {
      case Kind::nothing:
        return next;
      case Kind::one_of:
        return place(node.points, next);
      case Kind::begin:
        return add({Node::Is::begin, next});
      case Kind::end:
        return add({Node::Is::end, next});
      case Kind::sequence: {
        At at = next;
        for (auto part = node.parts.rbegin(); at && part != node.parts.rend(); ++part) at = emit(*part, *at);
        return at;
      }
      case Kind::alternative: {
        auto all = emit(node.parts.back(), next);
        for (auto part = node.parts.rbegin() + 1; all && part != node.parts.rend(); ++part) {
          const auto one = emit(*part, next);
          if (!one) return one;
          all = add({Node::Is::fork, *one, *all});
        }
        return all;
      }
      case Kind::repeated:
        return repeat(node, next);
    }
    return std::nullopt;
  }

  At repeat(const RegexTree::Node& node, std::uint32_t next) {
    const auto part = node.parts.front();
    At at = next;
    auto least = node.least;
    if (node.most == RegexTree::kNoEnd) {
      const auto again = add({Node::Is::fork, next, next});
      const auto body = emit(part, *again);
      if (!body) return body;
      nodes_[*again].other = *body;
      at = least == 0 ? again : body;
      if (least > 0) --least;
    } else {
      for (auto more = node.most - node.least; more > 0; --more) {
        const auto one = emit(part, *at);
        if (!one) return one;
        at = add({Node::Is::fork, next, *one});
      }
    }
    for (; at && least > 0; --least) at = emit(part, *at);
    return at;
  }

  At place(const CodePoints& points, std::uint32_t next) {
    if (places_.size() == RegexPlaces::kMax) return std::nullopt;
    if (!steps_.take(points.size())) return std::nullopt;
    const auto [known, fresh] = known_.emplace(points, static_cast<std::uint16_t>(places_.sets.size()));
    if (fresh) places_.sets.push_back(points);
    places_.set_of.push_back(known->second);
    return add({Node::Is::place, next, 0, static_cast<Place>(places_.size() - 1)});
  }

  // The places that are reached without taking anything. After an `end` nothing is taken any more.
  std::optional<std::vector<Place>> reach(std::uint32_t from, Where where) {
    ++round_;
    std::vector<Place> all;
    std::vector<std::pair<std::uint32_t, bool>> open{{from, false}};
    const auto go = [&](std::uint32_t to, bool past_end) {
      auto& seen = seen_[to];
      if (seen.round == round_ && (past_end || !seen.past_end)) return;
      seen = {round_, past_end};
      open.emplace_back(to, past_end);
    };
    while (!open.empty()) {
      if (!steps_.take(1)) return std::nullopt;
      const auto [index, past_end] = open.back();
      open.pop_back();
      const auto& node = nodes_[index];
      switch (node.is) {
        case Node::Is::place:
          if (!past_end) all.push_back(node.place);
          break;
        case Node::Is::fork:
          go(node.next, past_end);
          go(node.other, past_end);
          break;
        case Node::Is::begin:
          if (where == Where::begin) go(node.next, past_end);
          break;
        case Node::Is::end:
          go(node.next, true);
          break;
        case Node::Is::matched:
          all.push_back(past_end ? RegexPlaces::kMatchedAtEnd : RegexPlaces::kMatched);
          break;
      }
    }
    if (!steps_.take(4 * all.size())) return std::nullopt;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  const RegexTree& tree_;
  Steps& steps_;
  RegexPlaces places_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> at_;  // the node of each place
  std::map<CodePoints, std::uint16_t> known_;
  std::vector<Seen> seen_;
  std::uint32_t round_ = 0;
};

}  // namespace

Error too_large(const std::string& what) {
  return {"policy.pattern",
          "the regular expression takes more than " + what +
              " when it is made ready; shorten its repetitions, anchor it with `^`, or write it as several"};
}

Result<RegexPlaces> places_of(const RegexTree& tree, Steps& steps) {
  Unroller unroller(tree, steps);
  if (unroller.run()) return unroller.take();
  return tl::unexpected(too_large(steps.left() == 0
                                      ? "its share of work"
                                      : std::to_string(RegexPlaces::kMax) + " places for characters"));
}

}  // namespace policy
