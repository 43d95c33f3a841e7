// The table of programs and entries: keys byte for byte, rows and room brought along, what is dropped freed by others.
#include <map>

#include "c/check.h"
#include "eval/keyed_table.hpp"

using Table = mx::KeyedTable<int>;

static void insert(Table &table, const std::string &key, int value) {
  Table::Buckets room(table.wanted_buckets());
  const size_t had = room.size();
  std::unique_ptr<Table::Row> row(new Table::Row{key, value});
  CHECK(table.insert(std::move(row), room)->value == value);
  CHECK(room.size() < had || had == 0);  // it took the longer array and gave the shorter one back
}

static Table::Row *find(Table &table, const std::string &key) { return table.find(key, mx::key_hash(key)); }

static void test_against_a_map() {
  Table table;
  std::map<std::string, int> expected;
  CHECK(!find(table, "absent"));
  for (int i = 0; i < 1000; i++) {
    const std::string key = std::string(static_cast<size_t>(i % 7), '\0') + std::to_string(i);
    insert(table, key, i);
    expected[key] = i;
  }
  CHECK(table.size() == 1000);
  Table::Dropped dropped;
  table.each([&](Table::Row &row) {
    if (row.value % 3 != 0) return;
    expected.erase(row.key);
    table.drop(row, dropped);
  });
  CHECK(table.size() == expected.size());
  for (const auto &[key, value] : expected) CHECK(find(table, key) && find(table, key)->value == value);
  CHECK(!find(table, "0") && !find(table, "absent"));
  size_t n = 0;
  table.each([&](const Table::Row &) { n++; });
  CHECK(n == expected.size());
  Table other;
  other.swap(table);
  CHECK(table.size() == 0 && !find(table, "1") && find(other, std::string(1, '\0') + "1"));
}

int main() {
  test_against_a_map();
  return 0;
}
