// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file is in WAL mode. Readers never wait, and writers wait for one another. A commit that returned survives the
// death of the process. Texts, so that any SQLite shell shows them.
//
// Whoever only reads writes nothing, not even the columns that an older version lacks: they are read as their defaults.
// In a folder where SQLite cannot make the files that readers share, the store is read as one that nobody writes.
#include "runtime/engine/tuning/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "common/files.h"
#include "common/text.h"

namespace qgen::tuning {
namespace {

constexpr int kApplication = 0x7167656e;  // "qgen", in the file's header
constexpr int kVersion = 4;               // of the schema
constexpr int kPatienceMs = 60'000;       // with other writers
constexpr std::string_view kMoveAway = "move it away: qgen-tune then makes a new one";

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
    date TEXT NOT NULL, statistics TEXT NOT NULL, is_cold INTEGER NOT NULL DEFAULT 0,
    final_round INTEGER NOT NULL DEFAULT 0, samples INTEGER NOT NULL DEFAULT 0,
    lost_clock INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE INDEX measurement_of ON measurement (device, problem, kernel);
  CREATE TABLE quarantine (
    device INTEGER NOT NULL REFERENCES device,
    kernel TEXT NOT NULL, digest TEXT NOT NULL, reason TEXT NOT NULL, date TEXT NOT NULL,
    PRIMARY KEY (device, kernel, digest)) STRICT;
)";

// Columns that came later: the first version that had each. `final_round` is the same of rows that met in one final,
// and larger of newer finals; 0: of no final. `lost_clock` is what TunedRow::clock lacks to 1, in thousandths.
struct LaterColumn {
  std::string_view name;
  int64_t since;
};
constexpr LaterColumn kLaterColumns[] = {{"is_cold", 2}, {"final_round", 3}, {"samples", 3}, {"lost_clock", 4}};

struct TableShape {
  std::string_view name;
  std::vector<std::string_view> columns;
};
const std::array<TableShape, 4>& tables_of_a_store() {
  static const std::array<TableShape, 4> kTables = {
      {{"device", {"id", "device_uuid", "driver_uuid", "driver_version", "profile"}},
       {"problem", {"id", "key"}},
       {"measurement",
        {"id", "device", "problem", "kernel", "digest", "us", "low_us", "high_us", "date", "statistics", "is_cold",
         "final_round", "samples", "lost_clock"}},
       {"quarantine", {"device", "kernel", "digest", "reason", "date"}}}};
  return kTables;
}

struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::string digest_text(uint64_t digest) { return fmt::format("{:016x}", digest); }
uint64_t digest_of_text(std::string_view text) {
  uint64_t digest = 0;
  std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  return digest;
}

int64_t lost_clock_of(const TunedRow& row) { return std::lround(1000 * (1 - row.clock)); }

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

  // SQLITE_ROW, SQLITE_DONE, or an error code.
  int step() { return statement_ ? sqlite3_step(statement_.get()) : sqlite3_errcode(database_); }
  // To the end, for statements without rows; may then be bound again.
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

  int64_t version = kVersion;  // of the file

  // `name`: the path as SQLite takes it.
  static Expected<std::unique_ptr<State>> opened(const std::filesystem::path& path, const std::string& name,
                                                 int flags) {
    auto state = std::make_unique<State>();
    state->path = path;
    sqlite3* database = nullptr;
    const int result = sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    state->database.reset(database);
    if (result != SQLITE_OK) return state->error("cannot open");
    return state;
  }

  std::string shown_path() const { return printable(path.string()); }

  Error error(std::string_view doing) const {
    const int code = sqlite3_errcode(database.get());
    if (code == SQLITE_NOTADB) {
      return {Error::Kind::invalid_argument, fmt::format("'{}' is no store: it is no SQLite file", shown_path()),
              std::string(kMoveAway)};
    }
    if (code == SQLITE_CORRUPT) {
      return {Error::Kind::invalid_argument,
              fmt::format("'{}' is damaged: {}", shown_path(), sqlite3_errmsg(database.get())), std::string(kMoveAway)};
    }
    return {Error::Kind::system,
            fmt::format("{} '{}': {}", doing, shown_path(),
                        code != SQLITE_OK ? sqlite3_errmsg(database.get()) : "it has other tables than a store"),
            code == SQLITE_FULL ? "free some space, then run again: no row was lost" : ""};
  }
  bool execute(const std::string& sql) const {
    return sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  Statement prepare(std::string_view sql) const { return {database.get(), sql}; }

  int64_t pragma(std::string_view name) const {
    Statement query = prepare(fmt::format("PRAGMA {}", name));
    return query.step() == SQLITE_ROW ? query.integer(0) : -1;
  }

  // nullopt: it is not known.
  std::optional<int64_t> id_of(const DeviceKey& key) const {
    Statement query = prepare("SELECT id FROM device WHERE device_uuid = ? AND driver_uuid = ? AND driver_version = ?");
    query << key.device_uuid << key.driver_uuid << int64_t{key.driver_version};
    return query.step() == SQLITE_ROW ? std::optional(query.integer(0)) : std::nullopt;
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

  Done set_up();
  Done set_up_to_read();
  Done check_file() const;
  Done check_tables() const;

  // The columns of `measurement` that this file has under that name, or their default.
  std::string column(std::string_view name) const {
    const auto later = std::ranges::find(kLaterColumns, name, &LaterColumn::name);
    return later != std::end(kLaterColumns) && version < later->since ? "0" : std::string(name);
  }

 private:
  // If several processes do this at once, all but one get the answer that the file is busy, and SQLite does not wait
  // for them.
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

// One file has one sentence: a table that is none, or the first column that lacks.
Done Store::State::check_tables() const {
  const std::string hint(kMoveAway);
  for (const TableShape& table : tables_of_a_store()) {
    Statement kind = prepare("SELECT type FROM sqlite_master WHERE name = ?");
    kind << table.name;
    if (kind.step() != SQLITE_ROW) {
      return refused(fmt::format("'{}' lacks the table '{}' of a store", shown_path(), table.name), hint);
    }
    if (kind.text(0) != "table") {
      return refused(fmt::format("'{}' has a {} where a store has its table '{}'", shown_path(),
                                 printable(kind.text(0)), table.name),
                     hint);
    }
    std::set<std::string, std::less<>> columns;
    Statement has = prepare("SELECT name FROM pragma_table_info(?)");
    has << table.name;
    while (has.step() == SQLITE_ROW) columns.insert(has.text(0));
    for (const std::string_view name : table.columns) {
      const bool is_later = table.name == "measurement" && column(name) == "0";
      if (is_later || columns.contains(name)) continue;
      return refused(fmt::format("'{}' lacks the column '{}' of its table '{}'", shown_path(), name, table.name), hint);
    }
  }
  return std::monostate{};
}

// The schema is made in one transaction: of processes that open a new store at once one makes it, the others find it.
Done Store::State::set_up() {
  sqlite3_busy_timeout(database.get(), kPatienceMs);
  if (!become_wal() || !execute("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384")) return error("cannot open");
  Done checked = std::monostate{};
  const Done made = in_one("cannot open", [&] {
    version = pragma("user_version");
    Statement tables = prepare("SELECT count(*) FROM sqlite_master");
    const bool is_empty = tables.step() == SQLITE_ROW && tables.integer(0) == 0;
    const std::string current = fmt::format("PRAGMA user_version = {}", kVersion);
    if (is_empty) {
      version = kVersion;
      return execute(std::string(kSchema)) && execute(fmt::format("PRAGMA application_id = {}", kApplication)) &&
             execute(current);
    }
    checked = check_file();
    if (!checked || version == kVersion) return true;
    for (const LaterColumn& later : kLaterColumns) {
      if (version < later.since && !execute(fmt::format("ALTER TABLE measurement ADD COLUMN {} INTEGER NOT NULL "
                                                        "DEFAULT 0",
                                                        later.name)))
        return false;
    }
    version = kVersion;
    return execute(current);
  });
  return made ? checked : made;
}

// Whether it is a store that this version of qgen reads. `version` is known.
Done Store::State::check_file() const {
  if (pragma("application_id") != kApplication) {
    return refused(fmt::format("'{}' is another program's database", shown_path()), "name another file");
  }
  if (version > kVersion) {
    return refused(fmt::format("'{}' was written by a newer version of qgen", shown_path()), "use that version");
  }
  return check_tables();
}

Done Store::State::set_up_to_read() {
  sqlite3_busy_timeout(database.get(), kPatienceMs);
  version = pragma("user_version");
  Statement tables = prepare("SELECT count(*) FROM sqlite_master");
  if (version < 0 || tables.step() != SQLITE_ROW) return error("cannot open");
  if (tables.integer(0) > 0) return check_file();
  return refused(fmt::format("'{}' is no store: it is empty", shown_path()), "qgen-tune makes one when it measures");
}

std::string fault_of_profile(const StoredDevice& device) {
  return fmt::format("row {} of the table 'device' has no profile of a device", device.row);
}

DeviceKey device_key(const DeviceProfile& profile) {
  return {hexadecimal(profile.device_uuid), hexadecimal(profile.driver_uuid), profile.driver_version};
}

std::filesystem::path Store::default_path() {
  if (const char* path = ::getenv("QGEN_TUNING_STORE"); path && *path) return path;
  const auto folder = user_cache_folder();
  return folder ? std::filesystem::path(*folder) / "tuning.sqlite" : std::filesystem::path();
}

namespace {

// SQLite would wait for a pipe without end, and calls a folder a disk error.
Expected<bool> is_file(const std::filesystem::path& path) {
  if (path.empty()) {
    return Error{Error::Kind::not_found, "there is no folder to keep measured times in",
                 "set HOME, XDG_CACHE_HOME or QGEN_TUNING_STORE"};
  }
  std::error_code code;
  if (std::filesystem::status(path, code).type() == std::filesystem::file_type::not_found) return false;
  if (Done file = check_is_file(path.string()); !file) return file.error();
  return true;
}

Error none_there(const std::filesystem::path& path) {
  return {Error::Kind::not_found, fmt::format("there is no store '{}'", printable(path.string())),
          "qgen-tune makes one when it measures"};
}

// "file:a%20b?immutable=1": SQLite takes no locks, and makes no other files.
std::string address_of_unwritten(const std::filesystem::path& path) {
  std::string address = "file:";
  for (const char c : path.string()) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    address += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address + "?immutable=1";
}

}  // namespace

Expected<Store> Store::open(const std::filesystem::path& path) {
  if (auto file = is_file(path); !file) return file.error();
  std::error_code code;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), code);
  auto state = State::opened(path, path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (!state) return state.error();
  if (Done ready = (*state)->set_up(); !ready) return ready.error();
  return Store(*std::move(state));
}

Expected<Store> Store::open_existing(const std::filesystem::path& path) {
  const auto file = is_file(path);
  if (!file) return file.error();
  return *file ? open(path) : none_there(path);
}

Expected<Store> Store::open_to_read(const std::filesystem::path& path) {
  const auto file = is_file(path);
  if (!file) return file.error();
  if (!*file) return none_there(path);
  const auto open = [&](const std::string& name, int flags) -> Expected<Store> {
    auto state = State::opened(path, name, SQLITE_OPEN_READONLY | flags);
    if (!state) return state.error();
    if (Done ready = (*state)->set_up_to_read(); !ready) {
      const int why = sqlite3_errcode((*state)->database.get());
      Error error = ready.error();
      if (why == SQLITE_CANTOPEN || why == SQLITE_READONLY) error.kind = Error::Kind::not_found;  // to be tried again
      return error;
    }
    return Store(*std::move(state));
  };
  auto store = open(path.string(), 0);
  if (store || store.error().kind != Error::Kind::not_found) return store;
  auto unwritten = open(address_of_unwritten(path), SQLITE_OPEN_URI);
  if (!unwritten && unwritten.error().kind == Error::Kind::not_found) {
    return Error{Error::Kind::system, unwritten.error().message, unwritten.error().hint};
  }
  return unwritten;
}

Done Store::add(const DeviceKey& device, std::string_view profile, std::span<const TunedRow> rows) {
  if (!state_) return moved_from("store");
  for (const TunedRow& row : rows) {
    if (const std::string fault = fault_of(row); !fault.empty()) {
      return refused(fmt::format("the row of '{}' is no measurement: {}", row.kernel, fault));
    }
  }
  return state_->in_one("cannot add to", [&] {
    const auto id = state_->add_device(device, profile);
    if (!id) return false;
    Statement last = state_->prepare("SELECT coalesce(max(id), 0) FROM measurement");
    if (last.step() != SQLITE_ROW) return false;
    const int64_t round = last.integer(0) + 1;  // larger than the numbers of all earlier finals
    Statement problem = state_->prepare("INSERT INTO problem (key) VALUES (?) ON CONFLICT DO NOTHING");
    Statement row = state_->prepare(
        "INSERT INTO measurement (device, problem, kernel, digest, us, low_us, high_us, date, statistics, is_cold, "
        "final_round, samples, lost_clock) SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM problem WHERE key = ?");
    for (const TunedRow& r : rows) {
      if ((problem << r.problem).run() != SQLITE_DONE) return false;
      row << *id << r.kernel << digest_text(r.digest) << r.us << r.low_us << r.high_us << r.date << r.statistics
          << int64_t{r.is_cold} << (r.is_final ? round : int64_t{0}) << int64_t{r.samples} << lost_clock_of(r)
          << r.problem;
      if (row.run() != SQLITE_DONE) return false;
    }
    return true;
  });
}

Done Store::mark(const DeviceKey& device, std::span<const TunedRow> rows) {
  if (!state_) return moved_from("store");
  return state_->in_one("cannot add to", [&] {
    const auto id = state_->id_of(device);
    Statement marked = state_->prepare(
        "UPDATE measurement SET lost_clock = max(lost_clock, ?) WHERE device = ? AND problem = (SELECT id FROM problem "
        "WHERE key = ?) AND kernel = ? AND us = ? AND is_cold = ? AND date = ?");
    for (const TunedRow& row : rows) {
      marked << lost_clock_of(row) << id.value_or(0) << row.problem << row.kernel << row.us << int64_t{row.is_cold}
             << row.date;
      if (marked.run() != SQLITE_DONE) return false;
    }
    return true;
  });
}

namespace {

// As the file has it.
struct StoredRow {
  TunedRow row;
  int64_t final_round = 0;
};

// Whether a row counts, rather than one of the same kernel that came later. Rows of the newest final round stay until the
// next final, unless the kernel changed; they were measured against each other. Else a row without a mark counts.
bool counts_before(const TunedRow& row, const TunedRow& later) {
  if (row.digest != later.digest) return false;
  return std::pair(!row.is_final, row.is_marked()) < std::pair(!later.is_final, later.is_marked());
}

// From a problem's rows, in the order in which they were added, the one that counts of each kernel and cache, in
// order_of().
std::vector<TunedRow> counting(std::vector<StoredRow>& rows) {
  std::array<int64_t, 2> newest_final = {0, 0};  // of a warm cache, and of a cold one
  const auto final_of = [&](const TunedRow& row) -> int64_t& { return newest_final[row.is_cold ? 1 : 0]; };
  for (const StoredRow& stored : rows) final_of(stored.row) = std::max(final_of(stored.row), stored.final_round);
  std::map<std::pair<std::string_view, bool>, StoredRow*> chosen;
  for (auto stored = rows.rbegin(); stored != rows.rend(); ++stored) {
    TunedRow& row = stored->row;
    row.is_final = stored->final_round > 0 && stored->final_round == final_of(row);
    const auto [newest, is_first] = chosen.try_emplace({row.kernel, row.is_cold}, &*stored);
    if (!is_first && counts_before(row, newest->second->row)) newest->second = &*stored;
  }
  std::vector<TunedRow> counted;
  for (const auto& [kernel, stored] : chosen) counted.push_back(stored->row);
  std::ranges::sort(counted, {}, [](const TunedRow& row) { return order_of(row); });
  return counted;
}

// As a message shows a name that came from a file.
std::string shortened(std::string_view name) {
  constexpr size_t kShown = 120;
  return printable(name.substr(0, kShown)) + (name.size() > kShown ? " ..." : "");
}

using QuarantinedKernels = std::set<std::pair<std::string, uint64_t>>;

struct OfProblem {
  std::string key;
  std::vector<StoredRow> rows;
};
using Problems = std::unordered_map<int64_t, OfProblem>;  // by their numbers in the file

// Adds the problems of a query. Returns SQLite's result.
int take_problems(Statement& query, Problems& problems) {
  int result = query.step();
  for (; result == SQLITE_ROW; result = query.step()) problems[query.integer(0)].key = query.text(1);
  return result;
}

// Of the columns of take_rows() that hold integers.
std::string fault_of_numbers(const Statement& query) {
  struct Range {
    std::string_view name;
    int column;
    int64_t low, high;
  };
  constexpr Range kRanges[] = {{"is_cold", 8, 0, 1},
                               {"final_round", 9, 0, INT64_MAX},
                               {"samples", 10, 0, UINT32_MAX},
                               {"lost_clock", 12, 0, 999}};
  for (const Range& range : kRanges) {
    const int64_t number = query.integer(range.column);
    if (number < range.low || number > range.high)
      return fmt::format("its column '{}' is {}, and can be {} to {}", range.name, number, range.low, range.high);
  }
  return "";
}

// Adds rows to their problems, except rows of quarantined kernels. A row that no measurement can be is a fault.
// SQLite's result.
int take_rows(Statement& query, const std::string& file, const QuarantinedKernels& is_bad, Problems& problems,
              StoredRows& found) {
  std::vector<std::string>& faults = found.faults;
  int result = query.step();
  for (; result == SQLITE_ROW; result = query.step()) {
    const auto problem = problems.find(query.integer(0));
    if (problem == problems.end()) continue;
    if (const std::string fault = fault_of_numbers(query); !fault.empty()) {
      faults.push_back(fmt::format("row {} of '{}', of '{}', is no measurement: {}", query.integer(11), file,
                                   shortened(problem->second.key), fault));
      continue;
    }
    StoredRow stored{{problem->second.key, query.text(1), digest_of_text(query.text(2)), query.real(3), query.real(4),
                      query.real(5), query.text(6), query.text(7), query.integer(8) != 0, false,
                      static_cast<uint32_t>(query.integer(10)), static_cast<double>(1000 - query.integer(12)) / 1000},
                     query.integer(9)};
    const TunedRow& row = stored.row;
    if (const std::string fault = fault_of(row); !fault.empty()) {
      faults.push_back(fmt::format("row {} of '{}', of '{}' and '{}', is no measurement: {}", query.integer(11), file,
                                   shortened(row.problem), shortened(row.kernel), fault));
    } else if (is_bad.contains({row.kernel, row.digest})) {
      found.quarantined.add(row.kernel);
    } else {
      problem->second.rows.push_back(std::move(stored));
    }
  }
  return result;
}

// Sorted by key, of each problem those that count.
std::vector<TunedRow> rows_that_count(Problems& problems) {
  std::vector<OfProblem*> by_key;
  for (auto& [number, problem] : problems) {
    if (!problem.rows.empty()) by_key.push_back(&problem);
  }
  std::ranges::sort(by_key, {}, &OfProblem::key);
  std::vector<TunedRow> rows;
  for (OfProblem* problem : by_key) std::ranges::move(counting(problem->rows), std::back_inserter(rows));
  return rows;
}

}  // namespace

// If all problems are requested, in the order of the file: by an index, each row would be a separate lookup.
Expected<StoredRows> Store::read(const DeviceKey& device, const RowsOf& which) {
  if (!state_) return moved_from("store");
  StoredRows found;
  const auto id = state_->id_of(device);
  if (!id) return found;
  const auto bad = quarantined(device);
  if (!bad) return bad.error();
  QuarantinedKernels is_bad;
  for (const Quarantined& kernel : *bad) is_bad.emplace(kernel.kernel, kernel.digest);

  Problems problems;
  const bool is_all = which.op.empty() && which.problem.empty();
  Statement keys = state_->prepare(
      is_all ? "SELECT id, key FROM problem"
             : (which.problem.empty() ? "SELECT id, key FROM problem WHERE key >= ?1 || ' ' AND key < ?1 || '!'"
                                      : "SELECT id, key FROM problem WHERE key = ?1"));
  if (!is_all) keys << std::string_view(which.problem.empty() ? which.op : which.problem);
  int result = take_problems(keys, problems);

  const std::string columns = fmt::format(
      "problem, kernel, digest, us, low_us, high_us, date, statistics, {}, {}, {}, id, {}", state_->column("is_cold"),
      state_->column("final_round"), state_->column("samples"), state_->column("lost_clock"));
  const auto take = [&](Statement& query) { result = take_rows(query, state_->shown_path(), is_bad, problems, found); };
  if (is_all && result == SQLITE_DONE) {
    Statement query =
        state_->prepare(fmt::format("SELECT {} FROM measurement NOT INDEXED WHERE device = ? ORDER BY id", columns));
    query << *id;
    take(query);
  }
  for (auto problem = problems.begin(); !is_all && problem != problems.end() && result == SQLITE_DONE; ++problem) {
    Statement query = state_->prepare(
        fmt::format("SELECT {} FROM measurement WHERE device = ? AND problem = ? ORDER BY id", columns));
    query << *id << problem->first;
    take(query);
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");
  found.rows = rows_that_count(problems);
  return found;
}

Done Store::keys(const DeviceKey& device, std::string_view op, const std::function<void(std::string_view key)>& take) {
  if (!state_) return moved_from("store");
  const auto id = state_->id_of(device);
  if (!id) return std::monostate{};
  Statement query = state_->prepare(
      "SELECT key FROM problem WHERE key >= ?1 || ' ' AND key < ?1 || '!' AND EXISTS (SELECT 1 FROM measurement WHERE "
      "device = ?2 AND problem = problem.id)");
  query << op << *id;
  int result = query.step();
  for (; result == SQLITE_ROW; result = query.step()) take(query.text(0));
  if (result != SQLITE_DONE) return state_->error("cannot read");
  return std::monostate{};
}

Expected<std::vector<TunedRow>> Store::rows(const DeviceKey& device) {
  auto found = read(device, {});
  if (!found) return found.error();
  return std::move(found->rows);
}

Expected<std::vector<StoredDevice>> Store::devices() {
  if (!state_) return moved_from("store");
  std::vector<StoredDevice> devices;
  Statement query =
      state_->prepare("SELECT device_uuid, driver_uuid, driver_version, profile, id FROM device ORDER BY id");
  int result = query.step();
  for (; result == SQLITE_ROW; result = query.step()) {
    devices.push_back(
        {{query.text(0), query.text(1), static_cast<uint32_t>(query.integer(2))}, query.text(3), query.integer(4)});
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");
  return devices;
}

Expected<LeftOut> Store::orphans() {
  if (!state_) return moved_from("store");
  Statement query = state_->prepare(
      "SELECT count(*), min(id) FROM measurement WHERE device NOT IN (SELECT id FROM device) OR problem NOT IN (SELECT "
      "id FROM problem)");
  if (query.step() != SQLITE_ROW) return state_->error("cannot read");
  if (query.integer(0) == 0) return LeftOut{};
  return LeftOut{static_cast<size_t>(query.integer(0)),
                 fmt::format("row {} of the table 'measurement'", query.integer(1))};
}

Done Store::quarantine(const DeviceKey& device, std::string_view profile, const Quarantined& kernel) {
  if (!state_) return moved_from("store");
  return state_->in_one("cannot add to", [&] {
    const auto id = state_->add_device(device, profile);
    if (!id) return false;
    Statement added = state_->prepare("INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?)");
    added << *id << kernel.kernel << digest_text(kernel.digest) << kernel.reason << kernel.date;
    return added.run() == SQLITE_DONE;
  });
}

Expected<std::vector<Quarantined>> Store::quarantined(const DeviceKey& device) {
  if (!state_) return moved_from("store");
  std::vector<Quarantined> kernels;
  const auto id = state_->id_of(device);
  if (!id) return kernels;
  Statement query =
      state_->prepare("SELECT kernel, digest, reason, date FROM quarantine WHERE device = ? ORDER BY kernel, digest");
  query << *id;
  int result = query.step();
  for (; result == SQLITE_ROW; result = query.step()) {
    kernels.push_back({query.text(0), digest_of_text(query.text(1)), query.text(2), query.text(3)});
  }
  if (result != SQLITE_DONE) return state_->error("cannot read");
  return kernels;
}

// An operator's keys begin with its name and a space, its kernels' ids with its name and a point.
Expected<size_t> Store::forget(const Forgotten& what) {
  if (!state_) return moved_from("store");
  size_t gone = 0;
  const Done done = state_->in_one("cannot forget in", [&] {
    Statement rows = state_->prepare(
        "DELETE FROM measurement WHERE problem IN (SELECT id FROM problem WHERE ?1 = '' OR substr(key, 1, length(?1) + "
        "1) = ?1 || ' ') AND device IN (SELECT id FROM device WHERE ?2 = '' OR instr(profile, ?2) > 0) AND (?3 = '' OR "
        "date < ?3)");
    if ((rows << what.op << what.device << what.older_than).run() != SQLITE_DONE) return false;
    gone = static_cast<size_t>(sqlite3_changes(state_->database.get()));
    Statement bad = state_->prepare(
        "DELETE FROM quarantine WHERE (?1 = '' OR substr(kernel, 1, length(?1) + 1) = ?1 || '.') AND device IN (SELECT "
        "id FROM device WHERE ?2 = '' OR instr(profile, ?2) > 0) AND (?3 = '' OR date < ?3)");
    if ((bad << what.op << what.device << what.older_than).run() != SQLITE_DONE) return false;
    return state_->execute(
               "DELETE FROM device WHERE id NOT IN (SELECT device FROM measurement) AND id NOT IN (SELECT "
               "device FROM quarantine)") &&
           state_->execute("DELETE FROM problem WHERE id NOT IN (SELECT problem FROM measurement)");
  });
  if (!done) return done.error();
  return gone;
}

const std::filesystem::path& Store::path() const {
  static const std::filesystem::path kMovedFrom;
  return state_ ? state_->path : kMovedFrom;
}
Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

}  // namespace qgen::tuning
