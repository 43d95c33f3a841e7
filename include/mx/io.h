/* mx/io.h: arrays in files: npy and npz (NumPy), safetensors. */
#ifndef MX_IO_H
#define MX_IO_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* File formats. bfloat16 is the dtype '<V2' in npy and npz, as NumPy writes ml_dtypes' bfloat16. F8_E4M3 in safetensors
 * is read as uint8. What has no dtype here, such as strings, is an IO error that names it, and what
 * a format cannot hold (complex128 in safetensors) is UNSUPPORTED when it is saved. */
typedef enum mx_format {
  MX_FORMAT_ANY = 0, /* told by the first bytes */
  MX_FORMAT_NPY = 1,
  MX_FORMAT_NPZ = 2, /* compressed members need mx_has("zlib"), else UNSUPPORTED */
  MX_FORMAT_SAFETENSORS = 3
} mx_format;

/* The arrays of an opened file, by number and name, and its metadata. Immutable. The file stays open while the archive
 * or one of its arrays that was not evaluated yet is alive. Thread-safety: share freely. */
MX_HANDLE(mx_archive);

/* Opens a file and reads and checks all but the elements: IO for what is no such file, lies about its lengths, overlaps
 * or ends early, OVERFLOW for shapes that do not fit 63 bits. With `map` the file is mapped and arrays lie in the
 * mapping where alignment and byte order allow it: nothing is read or copied ahead, but if the file is truncated
 * meanwhile, using them kills the process by SIGBUS, and changes of the file show. */
MX_API MX_CHECK mx_status mx_load(mx_archive *out, const char *path, mx_format format, bool map);

/* As mx_load for a file in memory, which is copied. */
MX_API MX_CHECK mx_status mx_load_memory(mx_archive *out, const void *data, size_t n_bytes, mx_format format);

/* Makes a second owner of the same archive. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_dup(mx_archive *out, mx_archive x);

/* Closes the handle; arrays that came out stay valid. */
MX_API MX_NOWAIT mx_status mx_archive_free(mx_archive x);

/* The format of the file: never MX_FORMAT_ANY. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_format(mx_format *out, mx_archive x);

/* The number of arrays. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_count(size_t *n_out, mx_archive x);

/* The name of array `i`, in the order of the file; "" for that of an npy file. Writes it with its NUL to `buf` if `cap`
 * bytes are enough; needed_out says how many are. INDEX if there is no array `i`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_name(char *buf, size_t cap, size_t *needed_out, mx_archive x, size_t i);

/* A new array that reads the elements of array `i` when it is evaluated: every call makes one, so an archive keeps no
 * elements alive. Evaluation fails with IO if the file became shorter, cannot be read or fails its checksum. INDEX if
 * there is no array `i`. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_array(mx_array *out, mx_archive x, size_t i,
                                                     mx_stream MX_OPTIONAL stream);

/* As mx_archive_array for the array called `name`. INDEX if there is none. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_find(mx_array *out, mx_archive x, const char *name,
                                                    mx_stream MX_OPTIONAL stream);

/* The number of metadata entries; only safetensors files have any. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_metadata_count(size_t *n_out, mx_archive x);

/* The key of metadata entry `i`; text as in mx_archive_name. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_metadata_key(char *buf, size_t cap, size_t *needed_out, mx_archive x,
                                                            size_t i);

/* The value of metadata entry `i`; text as in mx_archive_name. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_archive_metadata_value(char *buf, size_t cap, size_t *needed_out, mx_archive x,
                                                              size_t i);

/* Evaluates `x` and writes it to an npy file, byte for byte as NumPy does. As for all that saves: the bytes go to a new
 * file in the same folder, which replaces `path` (through symbolic links, keeping its permissions) once it is complete
 * and on the disk; on failure `path` is as before. Nothing is appended to `path`. */
MX_API MX_CHECK mx_status mx_save_npy(const char *path, mx_array x);

/* Evaluates the arrays and writes them to an npz file, deflated if `compressed`. Names are UTF-8 and distinct, without
 * the ".npy" that their members get. */
MX_API MX_CHECK mx_status mx_save_npz(const char *path, const char *const *names, size_t n_names,
                                      const mx_array *arrays, size_t n_arrays, bool compressed);

/* Evaluates the arrays and writes them to a safetensors file, with metadata entry `i` being keys[i]: values[i]. Names
 * and keys are UTF-8 and distinct; "__metadata__" is no name. Tensors are ordered as the safetensors package does. */
MX_API MX_CHECK mx_status mx_save_safetensors(const char *path, const char *const *names, size_t n_names,
                                              const mx_array *arrays, size_t n_arrays, const char *const *keys,
                                              size_t n_keys, const char *const *values, size_t n_values);

/* The bytes that mx_save_npy would write, as a 1-d uint8 array. */
MX_API MX_CHECK mx_status mx_encode_npy(mx_array *out, mx_array x);

/* The bytes that mx_save_npz would write, as a 1-d uint8 array. */
MX_API MX_CHECK mx_status mx_encode_npz(mx_array *out, const char *const *names, size_t n_names, const mx_array *arrays,
                                        size_t n_arrays, bool compressed);

/* The bytes that mx_save_safetensors would write, as a 1-d uint8 array. */
MX_API MX_CHECK mx_status mx_encode_safetensors(mx_array *out, const char *const *names, size_t n_names,
                                                const mx_array *arrays, size_t n_arrays, const char *const *keys,
                                                size_t n_keys, const char *const *values, size_t n_values);

MX_EXTERN_C_END
#endif
