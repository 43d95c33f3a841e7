/* A host that knows nothing of the library opens a plugin that does, closes it while work is running, opens it again,
 * and ends. usage: plugin_host PLUGIN */
#include "teardown_loaded.h"

typedef int begin_fn(void);

int main(int argc, char **argv) {
  CHECK(argc == 2);
  for (int round = 0; round < 3; round++) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin);
    begin_fn *const begin = __extension__(begin_fn *) dlsym(plugin, "begin");
    CHECK(begin && begin() == 6);
    CHECK(dlclose(plugin) == 0);
  }
  return leaving(4);
}
