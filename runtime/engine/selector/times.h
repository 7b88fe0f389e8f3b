// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measured times of a problem's kernels, and how far each can be trusted. select() ranks by the most trusted
// source that has a kernel. Within one source, kernels of the same final round come first, then the shorter
// time.
//
//   const KernelTimes times = {{"row_sum.vec4/workgroup256", {.us = 12.5, .source_text = "measured 2026-11-23"}}};
//   select(problem, profile, library, {.times = &times});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qgen {

// Where the time that a choice is ranked by comes from; the most trusted first.
enum class TimeSource : uint8_t {
  measured,      // this problem, on this device and driver
  near,          // a problem like it, on this device and driver
  device,        // a table of this model of device: of another driver, or of another of its kind
  architecture,  // a table of another device of its architecture
  estimated,     // the spec's cost
};

// A text that many hold: one for all times of a problem, where a string each would take most of a look.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}  // NOLINT: reads so
  SharedText(const char* text) : SharedText(std::string(text)) {}                                // NOLINT
  std::string_view view() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  friend bool operator==(const SharedText& a, const SharedText& b) { return a.view() == b.view(); }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

struct KnownTime {
  double us = 0;  // as measured; microseconds
  TimeSource source = TimeSource::measured;
  // The spec's cost for that problem on that device: a cost of c here means us * c / cost_us. 0: the time is for this
  // very problem on such a device, and is used unchanged.
  double cost_us = 0;
  SharedText source_text = "measured";  // for people: "measured 2026-11-23"; KernelTimes::source_text() has all of it
  // Timed in the final round of a tuning, against the other best. Times of other rounds rank after those of a final
  // round, even shorter ones, which come from a moment when the machine was quiet.
  bool is_final = false;
  // The device was slower than its best while this was measured. Of two times of one kernel with the same source, one
  // that is not marked counts.
  bool is_marked = false;
};

// A choice that crashed or computed wrongly on this device and driver.
struct QuarantinedChoice {
  std::string id;      // Choice::id
  std::string reason;  // "wrong results (2026-11-23)"
};

// Of one problem, by Choice::id. A named choice that fits is added, even a recipe with other steps than the picked
// ones. One that does not fit or does not exist is skipped.
class KernelTimes {
 public:
  using value_type = std::pair<std::string_view, KnownTime>;
  using Rows = std::vector<value_type>;  // by id, each once
  KernelTimes() = default;
  KernelTimes(std::initializer_list<value_type> times);  // ids are copied

  // Existing entries stay, unless they are marked and the new one of the same source is not. The id is copied.
  void add(std::string_view id, KnownTime time);
  // The same. The rows keep alive the objects that their ids point to, and may be shared by many problems.
  // `before` is a prefix of their texts: "near m=512, ".
  void add(std::shared_ptr<const Rows> rows, std::string before = "");
  // The reason why measured times of this problem do not count, a sentence for people.
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  const std::vector<std::string>& notes() const { return notes_; }

  // select() refuses such a choice, unless it is forced.
  void quarantine(std::span<const QuarantinedChoice> choices);
  const std::vector<QuarantinedChoice>& quarantined() const { return quarantined_; }

  const KnownTime* find(std::string_view id) const;  // null: nothing is known
  // The times whose ids begin with `beginning`.
  std::span<const value_type> beginning_with(std::string_view beginning) const;
  // Where one of these times comes from, for people: "near 512x4096x4096, measured 2026-11-23, by the ratio of costs".
  std::string source_text(const KnownTime& time) const { return std::string(before_).append(time.source_text.view()); }
  size_t size() const { return rows().size(); }
  bool empty() const { return rows().empty(); }
  auto begin() const { return rows().begin(); }
  auto end() const { return rows().end(); }

 private:
  const Rows& rows() const;

  std::shared_ptr<const Rows> rows_;  // null: none
  std::string before_;
  std::vector<std::string> notes_;
  std::vector<QuarantinedChoice> quarantined_;
};

}  // namespace qgen
