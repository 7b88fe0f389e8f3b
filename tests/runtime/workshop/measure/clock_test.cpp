// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Clocks that rise, fall and throttle, on a simulated device: time passes only while it works or rests.
#include "runtime/workshop/measure/clock.h"

#include <gtest/gtest.h>

#include "tests/support/expected_text.h"

namespace qgen::measure {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// The rates of a device after so much work and rest; a sample takes a millisecond.
struct MadeUpDevice {
  std::function<double(nanoseconds worked)> clock_after;  // since the last rest
  nanoseconds now{}, worked{}, rested{};

  SteadyClock watch(SteadyClock::Of of = SteadyClock::Of::gpu) {
    return SteadyClock({.sample =
                            [this] {
                              now += 1ms;
                              worked += 1ms;
                              const double clock = clock_after(worked);
                              return Expected<Rates>(Rates{.copied_bytes = 4000 * clock, .operations = 6e7 * clock});
                            },
                        .now = [this] { return now; },
                        .rest =
                            [this](nanoseconds time) {
                              now += time;
                              rested += time;
                              worked = 0ns;
                            }},
                       of);
  }
};

TEST(SteadyClock, WorksUntilTheRatesRiseNoMore) {
  // From a sixth to all of it, in steps that are far apart.
  MadeUpDevice device{[](nanoseconds worked) { return worked < 150ms ? 0.17 : worked < 290ms ? 0.7 : 1.0; }};
  const auto level = device.watch().raise();
  ASSERT_TRUE(level);
  EXPECT_TRUE(level->is_steady());
  EXPECT_EQ(level->rates.copied_bytes, 4000);
  EXPECT_GE(device.worked, 300ms);
  EXPECT_EQ(device.rested, 0ns);
}

// It knows the plateau, so it does not take the first flat stretch for it.
TEST(SteadyClock, WorksOnWhereTheClockHasFallen) {
  MadeUpDevice device{[](nanoseconds worked) { return worked < 1s ? 0.17 : 1.0; }, {}, 2s};
  SteadyClock clock = device.watch();
  ASSERT_TRUE(clock.raise()->is_steady());
  device.worked = 0ns;  // it idled
  EXPECT_TRUE(clock.raise()->is_steady());
  EXPECT_GE(device.worked, 1s);
  EXPECT_EQ(device.rested, 0ns);
}

TEST(SteadyClock, RestsADeviceThatIsTired) {
  MadeUpDevice device{[](nanoseconds worked) { return worked < 5s ? 1.0 : 0.6; }};
  SteadyClock clock = device.watch();
  ASSERT_TRUE(clock.raise()->is_steady());
  device.worked = 10s;  // by something heavy
  EXPECT_FALSE(clock.look()->is_steady());
  EXPECT_DOUBLE_EQ(clock.look()->of_plateau, 0.6);
  EXPECT_TRUE(clock.raise()->is_steady());
  EXPECT_EQ(device.rested, 500ms);
}

TEST(SteadyClock, EndsWhereThePlateauIsGoneForGood) {
  bool is_hot = false;
  MadeUpDevice device{[&](nanoseconds) { return is_hot ? 0.8 : 1.0; }};
  SteadyClock clock = device.watch();
  ASSERT_TRUE(clock.raise()->is_steady());
  is_hot = true;
  const auto level = clock.raise();
  ASSERT_TRUE(level);
  EXPECT_FALSE(level->is_steady());
  EXPECT_DOUBLE_EQ(level->of_plateau, 0.8);
  EXPECT_EQ(device.rested, 1s);
}

// A search of a hundred races would else wait for ten seconds before each, and at each round.
TEST(SteadyClock, WaitsOnceForAPlateauThatIsGone) {
  bool is_hot = false;
  MadeUpDevice device{[&](nanoseconds) { return is_hot ? 0.8 : 1.0; }};
  SteadyClock clock = device.watch();
  ASSERT_TRUE(clock.raise()->is_steady());
  is_hot = true;
  ASSERT_FALSE(clock.raise()->is_steady());
  const nanoseconds began = device.now;
  for (int race = 0; race < 10; ++race) {
    const auto level = clock.raise();
    ASSERT_TRUE(level);
    EXPECT_TRUE(level->is_steady()) << "the level that it has is the plateau now";
    EXPECT_DOUBLE_EQ(level->of_best, 0.8) << "which is still told";
  }
  EXPECT_LE(device.now - began, 1s);
  is_hot = false;  // it has cooled down
  ASSERT_TRUE(clock.raise()->is_steady());
  EXPECT_DOUBLE_EQ(clock.look()->of_best, 1);
  EXPECT_DOUBLE_EQ(clock.look()->of_plateau, 1);
  is_hot = true;
  const nanoseconds again = device.now;
  EXPECT_FALSE(clock.raise()->is_steady());
  EXPECT_LE(device.now - again, 1100ms) << "a device that did not come back once is not waited for so long";
}

TEST(SteadyClock, TakesNoSingleSampleForThePlateau) {
  int samples = 0;
  SteadyClock clock({.sample =
                         [&] {
                           const double luck = ++samples == 5 ? 1.2 : 1.0;  // a copy that lay in a cache
                           return Expected<Rates>(Rates{4000 * luck, 6e7});
                         },
                     .now = {},
                     .rest = {}});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(clock.look()->is_steady()) << i;
  EXPECT_EQ(samples, 10);
}

// Each sample is a little better than the last: it ends all the same.
TEST(SteadyClock, DoesNotClimbForever) {
  MadeUpDevice device{[](nanoseconds worked) { return 1 + static_cast<double>(worked.count()) / 1e7; }};
  ASSERT_TRUE(device.watch().raise());
  EXPECT_LE(device.worked, 3010ms);
}

TEST(SteadyClock, IsToldByTheSlowerOfItsRates) {
  double processors = 1;
  SteadyClock clock({.sample = [&] { return Expected<Rates>(Rates{4000, 6e7 * processors}); }, .now = {}, .rest = {}});
  EXPECT_EQ(clock.look()->of_plateau, 1);
  processors = 0.5;
  EXPECT_EQ(clock.look()->of_plateau, 0.5);
}

TEST(SteadyClock, OfAHostIsAlwaysSteady) {
  SteadyClock clock;
  EXPECT_TRUE(clock.raise()->is_steady());
  EXPECT_TRUE(clock.look()->is_steady());
}

// Other programs interrupt most of the samples, and the device is as fast as before. Or it is really slower.
TEST(SteadyClock, LooksLongerAtABusyHost) {
  bool is_slow = false;
  const auto is_interrupted = [](nanoseconds worked) { return worked > 10ms && worked / 1ms % 12 != 0; };
  MadeUpDevice device{[&](nanoseconds worked) { return is_interrupted(worked) ? 0.2 : (is_slow ? 0.7 : 1.0); }};
  SteadyClock clock = device.watch(SteadyClock::Of::host);
  ASSERT_TRUE(clock.sentinel());
  device.worked = 12ms;
  for (int look = 0; look < 5; ++look) EXPECT_EQ(clock.sentinel()->of_best, 1) << look;
  is_slow = true;
  EXPECT_DOUBLE_EQ(clock.sentinel()->of_best, 0.7);
}

TEST(SteadyClock, PassesOnWhatGoesWrong) {
  SteadyClock clock({.sample =
                         [] {
                           return Expected<Rates>(Error{Error::Kind::device, "the device is lost", ""});
                         },
                     .now = [] { return 0ns; },
                     .rest = {}});
  EXPECT_TEXT(clock.raise().error().message, "the device is lost");
}

}  // namespace
}  // namespace qgen::measure
