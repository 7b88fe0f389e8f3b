// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file is in WAL mode: readers never wait, writers wait for one another, and what a commit returned from survives
// the death of the process. Texts, so that any SQLite shell shows them.
#include "runtime/tuning/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "common/files.h"
#include "common/text.h"

namespace qgen::tuning {
namespace {

constexpr int kApplication = 0x7167656e;  // "qgen", in the file's header
constexpr int kVersion = 2;               // of the schema
constexpr int kPatienceMs = 60'000;       // with other writers

constexpr std::string_view kSchema = R"(
  CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    device_uuid TEXT NOT NULL, driver_uuid TEXT NOT NULL, driver_version INTEGER NOT NULL,
    profile TEXT NOT NULL,
    UNIQUE (device_uuid, driver_uuid, driver_version)) STRICT;
  CREATE TABLE problem (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE measurement (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device, problem INTEGER NOT NULL REFERENCES problem,
    kernel TEXT NOT NULL, digest TEXT NOT NULL,
    us REAL NOT NULL, low_us REAL NOT NULL, high_us REAL NOT NULL,
    date TEXT NOT NULL, statistics TEXT NOT NULL, is_cold INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE INDEX measurement_of ON measurement (device, problem, kernel);
  CREATE TABLE quarantine (
    device INTEGER NOT NULL REFERENCES device,
    kernel TEXT NOT NULL, digest TEXT NOT NULL, reason TEXT NOT NULL, date TEXT NOT NULL,
    PRIMARY KEY (device, kernel, digest)) STRICT;
)";

// Of a store of version 1, which had no cold caches.
constexpr const char* kFromVersion1 = "ALTER TABLE measurement ADD COLUMN is_cold INTEGER NOT NULL DEFAULT 0";

struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::string digest_text(uint64_t digest) { return fmt::format("{:016x}", digest); }
uint64_t digest_of_text(std::string_view text) {
  uint64_t digest = 0;
  std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  return digest;
}

// A statement, its values bound in their order.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql) : database_(database) {
    sqlite3_stmt* made = nullptr;
    sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &made, nullptr);
    statement_.reset(made);
  }

  Statement& operator<<(std::string_view text) {
    sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& operator<<(int64_t number) {
    sqlite3_bind_int64(statement_.get(), ++bound_, number);
    return *this;
  }
  Statement& operator<<(double number) {
    sqlite3_bind_double(statement_.get(), ++bound_, number);
    return *this;
  }

  // SQLITE_ROW, SQLITE_DONE, or what went wrong.
  int step() { return statement_ ? sqlite3_step(statement_.get()) : sqlite3_errcode(database_); }
  // To the end, for what gives no rows; may then be bound again.
  int run() {
    const int result = step();
    if (statement_) sqlite3_reset(statement_.get());
    bound_ = 0;
    return result == SQLITE_ROW ? SQLITE_DONE : result;
  }

  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))) : "";
  }
  int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }

 private:
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, FinishStatement> statement_;
  int bound_ = 0;
};

}  // namespace

struct Store::State {
  struct Close {
    void operator()(sqlite3* opened) const { sqlite3_close_v2(opened); }
  };

  std::filesystem::path path;
  std::unique_ptr<sqlite3, Close> database;

  Error error(std::string_view doing) const {
    return {Error::Kind::system, fmt::format("{} '{}': {}", doing, path.string(), sqlite3_errmsg(database.get())), ""};
  }
  bool execute(const std::string& sql) const {
    return sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  Statement prepare(std::string_view sql) const { return {database.get(), sql}; }

  int64_t pragma(std::string_view name) const {
    Statement asked = prepare(fmt::format("PRAGMA {}", name));
    return asked.step() == SQLITE_ROW ? asked.integer(0) : -1;
  }

  // nullopt: it is not known.
  std::optional<int64_t> id_of(const DeviceKey& key) const {
    Statement asked = prepare("SELECT id FROM device WHERE device_uuid = ? AND driver_uuid = ? AND driver_version = ?");
    asked << key.device_uuid << key.driver_uuid << int64_t{key.driver_version};
    return asked.step() == SQLITE_ROW ? std::optional(asked.integer(0)) : std::nullopt;
  }
  std::optional<int64_t> add_device(const DeviceKey& key, std::string_view profile) const {
    Statement added = prepare(
        "INSERT INTO device (device_uuid, driver_uuid, driver_version, profile) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET profile = excluded.profile");
    added << key.device_uuid << key.driver_uuid << int64_t{key.driver_version} << profile;
    return added.run() == SQLITE_DONE ? id_of(key) : std::nullopt;
  }

  // All of what `work` does, or nothing. It says whether it went well.
  template <typename Work>
  Done in_one(std::string_view doing, const Work& work) const {
    if (!execute("BEGIN IMMEDIATE")) return error(doing);
    if (work() && execute("COMMIT")) return std::monostate{};
    const Error why = error(doing);
    execute("ROLLBACK");
    return why;
  }

  Done set_up() const;

 private:
  // Of processes that do this at once all but one are told that the file is busy, and SQLite does not wait for them.
  bool become_wal() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    while (!execute("PRAGMA journal_mode = WAL")) {
      const bool is_busy = sqlite3_errcode(database.get()) == SQLITE_BUSY;
      if (!is_busy || std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
};

// The schema is made in one transaction: of processes that open a new store at once one makes it, the others find it.
Done Store::State::set_up() const {
  sqlite3_busy_timeout(database.get(), kPatienceMs);
  if (!become_wal() || !execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384")) return error("cannot open");
  bool is_ours = true, is_newer = false;
  const Done made = in_one("cannot open", [&] {
    const int64_t version = pragma("user_version");
    is_newer = version > kVersion;
    Statement tables = prepare("SELECT count(*) FROM sqlite_master");
    const bool is_empty = tables.step() == SQLITE_ROW && tables.integer(0) == 0;
    is_ours = is_empty || pragma("application_id") == kApplication;
    if (!is_ours || is_newer || (!is_empty && version == kVersion)) return true;
    const std::string current = fmt::format("PRAGMA user_version = {}", kVersion);
    if (!is_empty) return execute(kFromVersion1) && execute(current);
    return execute(std::string(kSchema)) && execute(fmt::format("PRAGMA application_id = {}", kApplication)) &&
           execute(current);
  });
  if (!made) return made;
  if (!is_ours) return refused(fmt::format("'{}' is another program's database", path.string()), "name another file");
  if (is_newer) {
    return refused(fmt::format("'{}' was written by a newer version of qgen", path.string()), "use that version");
  }
  return std::monostate{};
}

DeviceKey device_key(const DeviceProfile& profile) {
  return {hexadecimal(profile.device_uuid), hexadecimal(profile.driver_uuid), profile.driver_version};
}

std::filesystem::path Store::default_path() {
  if (const char* path = ::getenv("QGEN_TUNING_STORE"); path && *path) return path;
  return std::filesystem::path(user_cache_folder().value_or(".")) / "tuning.sqlite";
}

Expected<Store> Store::open(const std::filesystem::path& path) {
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  auto state = std::make_unique<State>();
  state->path = path;
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  state->database.reset(opened);
  if (result != SQLITE_OK) return state->error("cannot open");
  if (Done ready = state->set_up(); !ready) return ready.error();
  return Store(std::move(state));
}

Expected<Store> Store::open_existing(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::exists(path, code)) return open(path);
  return Error{Error::Kind::not_found, fmt::format("there is no store '{}'", path.string()),
               "qgen-tune makes one when it measures"};
}

Done Store::add(const DeviceKey& device, std::string_view profile, std::span<const TunedRow> rows) {
  return state_->in_one("cannot add to", [&] {
    const auto id = state_->add_device(device, profile);
    if (!id) return false;
    Statement problem = state_->prepare("INSERT INTO problem (key) VALUES (?) ON CONFLICT DO NOTHING");
    Statement row = state_->prepare(
        "INSERT INTO measurement (device, problem, kernel, digest, us, low_us, high_us, date, statistics, is_cold) "
        "SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ? FROM problem WHERE key = ?");
    for (const TunedRow& r : rows) {
      if ((problem << r.problem).run() != SQLITE_DONE) return false;
      row << *id << r.kernel << digest_text(r.digest) << r.us << r.low_us << r.high_us << r.date << r.statistics
          << int64_t{r.is_cold} << r.problem;
      if (row.run() != SQLITE_DONE) return false;
    }
    return true;
  });
}

namespace {

// Of a problem's rows, which are in the order in which they were added, the newest of each kernel and cache, by time.
std::vector<TunedRow*> newest_of(std::vector<TunedRow>& rows) {
  const auto kernel_of = [](const TunedRow* row) { return std::tie(row->kernel, row->is_cold); };
  std::vector<TunedRow*> newest;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) newest.push_back(&*row);
  std::ranges::stable_sort(newest, {}, kernel_of);
  const auto is_older = [&](const TunedRow* a, const TunedRow* b) { return kernel_of(a) == kernel_of(b); };
  newest.erase(std::unique(newest.begin(), newest.end(), is_older), newest.end());
  std::ranges::sort(newest, {}, [](const TunedRow* row) { return std::tie(row->us, row->kernel, row->is_cold); });
  return newest;
}

}  // namespace

Expected<std::vector<TunedRow>> Store::rows(const DeviceKey& device) {
  std::vector<TunedRow> rows;
  const auto id = state_->id_of(device);
  if (!id) return rows;
  const auto bad = quarantined(device);
  if (!bad) return bad.error();
  const auto is_bad = [&](const TunedRow& row) {
    return std::ranges::any_of(*bad,
                               [&](const Quarantined& q) { return q.digest == row.digest && q.kernel == row.kernel; });
  };

  struct OfProblem {
    std::string key;
    std::vector<TunedRow> rows;
  };
  std::unordered_map<int64_t, OfProblem> problems;
  Statement keys = state_->prepare("SELECT id, key FROM problem");
  int result = keys.step();
  for (; result == SQLITE_ROW; result = keys.step()) problems[keys.integer(0)].key = keys.text(1);
  if (result != SQLITE_DONE) return state_->error("cannot read");
  // As they lie in the file: an index would look each up there.
  Statement asked = state_->prepare(
      "SELECT problem, kernel, digest, us, low_us, high_us, date, statistics, is_cold "
      "FROM measurement NOT INDEXED WHERE device = ? ORDER BY id");
  asked << *id;
  result = asked.step();
  for (; result == SQLITE_ROW; result = asked.step()) {
    OfProblem& problem = problems[asked.integer(0)];
    TunedRow row{problem.key,   asked.text(1), digest_of_text(asked.text(2)),
                 asked.real(3), asked.real(4), asked.real(5),
                 asked.text(6), asked.text(7), asked.integer(8) != 0};
    if (!is_bad(row)) problem.rows.push_back(std::move(row));
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");

  std::vector<OfProblem*> by_key;
  size_t count = 0;
  for (auto& [number, problem] : problems) {
    by_key.push_back(&problem);
    count += problem.rows.size();
  }
  std::ranges::sort(by_key, {}, &OfProblem::key);
  rows.reserve(count);
  for (OfProblem* problem : by_key) {
    for (TunedRow* row : newest_of(problem->rows)) rows.push_back(std::move(*row));
  }
  return rows;
}

Expected<std::vector<StoredDevice>> Store::devices() {
  std::vector<StoredDevice> devices;
  Statement asked = state_->prepare("SELECT device_uuid, driver_uuid, driver_version, profile FROM device ORDER BY id");
  int result = asked.step();
  for (; result == SQLITE_ROW; result = asked.step()) {
    devices.push_back({{asked.text(0), asked.text(1), static_cast<uint32_t>(asked.integer(2))}, asked.text(3)});
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");
  return devices;
}

Done Store::quarantine(const DeviceKey& device, std::string_view profile, const Quarantined& kernel) {
  return state_->in_one("cannot add to", [&] {
    const auto id = state_->add_device(device, profile);
    if (!id) return false;
    Statement added = state_->prepare("INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?)");
    added << *id << kernel.kernel << digest_text(kernel.digest) << kernel.reason << kernel.date;
    return added.run() == SQLITE_DONE;
  });
}

Expected<std::vector<Quarantined>> Store::quarantined(const DeviceKey& device) {
  std::vector<Quarantined> kernels;
  const auto id = state_->id_of(device);
  if (!id) return kernels;
  Statement asked =
      state_->prepare("SELECT kernel, digest, reason, date FROM quarantine WHERE device = ? ORDER BY kernel, digest");
  asked << *id;
  int result = asked.step();
  for (; result == SQLITE_ROW; result = asked.step()) {
    kernels.push_back({asked.text(0), digest_of_text(asked.text(1)), asked.text(2), asked.text(3)});
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");
  return kernels;
}

// An operator's keys begin with its name and a space, its kernels' ids with its name and a point.
Expected<size_t> Store::forget(const Forgotten& what) {
  size_t gone = 0;
  const Done done = state_->in_one("cannot forget in", [&] {
    Statement rows = state_->prepare(
        "DELETE FROM measurement WHERE problem IN (SELECT id FROM problem WHERE ?1 = '' OR substr(key, 1, length(?1) + "
        "1) = ?1 || ' ') AND device IN (SELECT id FROM device WHERE ?2 = '' OR instr(profile, ?2) > 0)");
    if ((rows << what.op << what.device).run() != SQLITE_DONE) return false;
    gone = static_cast<size_t>(sqlite3_changes(state_->database.get()));
    Statement bad = state_->prepare(
        "DELETE FROM quarantine WHERE (?1 = '' OR substr(kernel, 1, length(?1) + 1) = ?1 || '.') AND device IN (SELECT "
        "id FROM device WHERE ?2 = '' OR instr(profile, ?2) > 0)");
    if ((bad << what.op << what.device).run() != SQLITE_DONE) return false;
    return state_->execute(
               "DELETE FROM device WHERE id NOT IN (SELECT device FROM measurement) AND id NOT IN (SELECT "
               "device FROM quarantine)") &&
           state_->execute("DELETE FROM problem WHERE id NOT IN (SELECT problem FROM measurement)");
  });
  if (!done) return done.error();
  return gone;
}

const std::filesystem::path& Store::path() const { return state_->path; }
Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

}  // namespace qgen::tuning
