#include "policy/region.h"

#include <algorithm>
#include <map>

namespace policy {
namespace {

// More boxes than a rule that a person wrote comes to.
constexpr std::size_t kMaxBoxes = 64;
// How often a box is cut up, and into how many pieces, before that is too much.
constexpr std::size_t kMaxCuts = 64;

using Boxes = std::vector<Box>;

// A condition as boxes, `not` moved inward to what is asked.
class Unfolding {
 public:
  Unfolding(Effect effect, const Unseen& unseen) : effect_(effect), unseen_(unseen) {}

  bool given_up() const { return given_up_; }
  bool waits() const { return waits_; }

  Boxes of(const Condition& condition, bool holds) {
    return std::visit([&](const auto& is) { return unfold(is, holds); }, condition.is);
  }
  Boxes both(const Boxes& a, const Boxes& b) {
    Boxes product;
    if (a.size() * b.size() > kMaxBoxes) {
      given_up_ = true;
      return product;
    }
    for (const auto& left : a) {
      for (const auto& right : b) {
        auto& box = product.emplace_back(left);
        box.asked.insert(box.asked.end(), right.asked.begin(), right.asked.end());
        box.vague = box.vague || right.vague;
      }
    }
    return product;
  }

 private:
  Boxes unfold(const AllOf& all, bool holds) {
    return holds ? product(all.parts, holds) : sum(all.parts, holds);
  }
  Boxes unfold(const AnyOf& any, bool holds) {
    return holds ? sum(any.parts, holds) : product(any.parts, holds);
  }
  Boxes unfold(const NotThis& negation, bool holds) { return of(negation.part.front(), !holds); }
  Boxes unfold(const SubjectIs& named, bool holds) {
    const auto& is = *named.subject;
    std::vector<Asked> asked;
    if (!is.transports.empty()) asked.push_back({{Axis::Of::transport}, holds, &is.transports});
    if (!is.os_users.empty()) asked.push_back({{Axis::Of::os_user}, holds, &is.os_users});
    if (!is.uids.empty()) asked.push_back({{Axis::Of::uid}, holds, &is.uids});
    if (!is.clients.empty()) asked.push_back({{Axis::Of::client}, holds, &is.clients});
    const bool of_token = !is.issuers.empty();
    if (holds) return {Box{std::move(asked), of_token}};
    auto boxes = each(asked);
    if (of_token) boxes.push_back(Box{{}, true});
    return boxes;
  }
  Boxes unfold(const LabelsHave& have, bool holds) {
    std::vector<Asked> asked;
    asked.reserve(have.labels.size());
    const SetBy by{have.seen_from.value_or(Tier::session)};
    for (const auto& label : have.labels) asked.push_back({{Axis::Of::label, Fact{}, label}, holds, by});
    const bool all = have.how == LabelsHave::How::all;
    return all == holds ? Boxes{Box{std::move(asked)}} : each(asked);
  }
  Boxes unfold(const SettingIs& is, bool holds) {
    return {Box{{Asked{{Axis::Of::setting, Fact{}, is.name()}, holds, &is}}}};
  }
  Boxes unfold(const WordIs& is, bool holds) { return fact(is, holds); }
  Boxes unfold(const TextLike& like, bool holds) { return fact(like, holds); }
  Boxes unfold(const NumberIs& is, bool holds) { return fact(is, holds); }
  Boxes unfold(const PathLike& like, bool holds) { return fact(like, holds); }
  // A kind of condition that nothing is known of here.
  template <class Other>
  Boxes unfold(const Other&, bool) {
    Box box;
    box.vague = true;
    return {box};
  }

  template <class Leaf>
  Boxes fact(const Leaf& leaf, bool holds) {
    const auto fact = static_cast<std::size_t>(leaf.fact);
    if (unseen_.later.test(fact)) return not_yet();
    if (unseen_.hidden.test(fact)) {
      // Where it stays hidden a rule that refuses speaks and one that allows does not.
      if (effect_ == Effect::allow) return {Box{}};
      given_up_ = true;
      return {};
    }
    return {Box{{Asked{{Axis::Of::fact, leaf.fact}, holds, &leaf}}}};
  }
  // What will be known when the same thing is asked again keeps no allow rule from matching, and makes no
  // other rule match. One that asks may let the first half go on for it.
  Boxes not_yet() {
    waits_ = waits_ || effect_ == Effect::ask;
    return effect_ == Effect::allow ? Boxes{Box{}} : Boxes{};
  }
  static Boxes each(const std::vector<Asked>& asked) {
    Boxes boxes;
    for (const auto& one : asked) boxes.push_back(Box{{one}});
    return boxes;
  }
  Boxes product(const std::vector<Condition>& parts, bool holds) {
    Boxes all{Box{}};
    for (const auto& part : parts) all = both(all, of(part, holds));
    return all;
  }
  Boxes sum(const std::vector<Condition>& parts, bool holds) {
    Boxes all;
    for (const auto& part : parts) {
      auto more = of(part, holds);
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    if (all.size() > kMaxBoxes) given_up_ = true;
    return given_up_ ? Boxes{} : all;
  }

  Effect effect_;
  Unseen unseen_;
  bool given_up_ = false;
  bool waits_ = false;
};

void sort_by_axis(std::vector<Asked>& asked) {
  std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.axis < b.axis; });
}

// What is asked on one axis of those that are sorted.
std::span<const Asked> on(const std::vector<Asked>& asked, const Axis& axis) {
  const auto first =
      std::find_if(asked.begin(), asked.end(), [&](const Asked& one) { return one.axis == axis; });
  const auto last = std::find_if(first, asked.end(), [&](const Asked& one) { return one.axis != axis; });
  return {first, last};
}

// A value for each axis, of what is asked in the order of axes.
Outside point_of(const std::vector<Asked>& asked, std::size_t& steps) {
  Outside found{Meeting::End::some};
  for (auto at = asked.begin(); at != asked.end();) {
    const auto these = on(asked, at->axis);
    auto met = meet(these, steps);
    if (met.end == Meeting::End::none) return {Meeting::End::none, {{at->axis, {}}}};
    if (met.end == Meeting::End::undecided) found.end = met.end;
    found.point.emplace_back(at->axis, std::move(met.value));
    at += static_cast<std::ptrdiff_t>(these.size());
  }
  return found;
}

Region settle(Boxes boxes, bool given_up, std::size_t& steps) {
  Region region;
  region.given_up = given_up;
  for (auto& box : boxes) {
    sort_by_axis(box.asked);
    const auto found = point_of(box.asked, steps);
    if (found.end == Meeting::End::none) {
      region.emptied.push_back(spelling(found.point.front().first));
    } else {
      region.boxes.push_back(std::move(box));
    }
  }
  return region;
}

// Takes others away from a box, one after the other: what is left of it is where one thing that the other
// asks does not hold.
class Cut {
 public:
  Cut(const std::vector<const Box*>& others, std::size_t& steps) : others_(others), steps_(steps) {}

  Outside rest(std::vector<Asked> asked, std::size_t next) {
    if (next == others_.size()) return point_of(asked, steps_);
    if (++cuts_ > kMaxCuts) return {Meeting::End::undecided};
    bool sure = true;
    for (const auto& one : others_[next]->asked) {
      const auto without = with(asked, one.opposite());
      const auto left = meet(on(without, one.axis), steps_).end;
      if (left != Meeting::End::none) {
        auto found = left == Meeting::End::some ? rest(without, next + 1) : Outside{left};
        if (found.end == Meeting::End::some) return found;
        sure = sure && found.end == Meeting::End::none;
      }
      asked = with(std::move(asked), one);
      if (meet(on(asked, one.axis), steps_).end == Meeting::End::none) break;
    }
    return {sure ? Meeting::End::none : Meeting::End::undecided};
  }

 private:
  static std::vector<Asked> with(std::vector<Asked> asked, const Asked& more) {
    asked.push_back(more);
    sort_by_axis(asked);
    return asked;
  }

  const std::vector<const Box*>& others_;
  std::size_t& steps_;
  std::size_t cuts_ = 0;
};

}  // namespace

Region region_of(const Rule& rule, const Unseen& unseen, std::size_t& steps) {
  Unfolding unfolding(rule.effect, unseen);
  auto boxes = unfolding.of(rule.when, true);
  if (rule.unless) boxes = unfolding.both(boxes, unfolding.of(*rule.unless, false));
  // What a waiver lifts, and until when, is not looked at here.
  if (!rule.waivers.empty()) {
    for (auto& box : boxes) box.vague = true;
  }
  auto region = settle(std::move(boxes), unfolding.given_up(), steps);
  region.waits = unfolding.waits();
  return region;
}

Region region_without_exception(const Rule& rule, const Unseen& unseen, std::size_t& steps) {
  Unfolding unfolding(rule.effect, unseen);
  auto boxes = unfolding.of(rule.when, true);
  return settle(std::move(boxes), unfolding.given_up(), steps);
}

Outside outside(const Box& box, const std::vector<const Box*>& others, std::size_t& steps) {
  return Cut(others, steps).rest(box.asked, 0);
}

Meeting::End overlap(const Box& a, const Box& b, std::size_t& steps) {
  auto asked = a.asked;
  asked.insert(asked.end(), b.asked.begin(), b.asked.end());
  sort_by_axis(asked);
  return point_of(asked, steps).end;
}

bool contains(const Box& box, const Question& question) {
  return !box.vague && std::all_of(box.asked.begin(), box.asked.end(), [&](const Asked& one) {
    const auto value = value_at(one.axis, question);
    return value && meets(one, *value);
  });
}

}  // namespace policy
