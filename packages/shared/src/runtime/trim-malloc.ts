const signatures = { malloc_trim: { arguments: ['uint64'], return: 'int32' } } as const

/**
 * Returns a function that makes malloc return the memory of its free pages to the operating system. Malloc does that itself only
 * for free memory after the last page in use, so after thousands of TLS connections, it would keep most of their memory.
 * Returns undefined if Node.js cannot call native functions (older than version 26), or if malloc is not that of glibc.
 */
export function openMallocTrim(): (() => void) | undefined {
  try {
    const native = nativeFunctions()?.dlopen(null, signatures).functions
    return native && (() => void native.malloc_trim(0n))
  } catch {
    return undefined
  }
}

/** Returns the module that calls native functions, without its warning that it is experimental. */
function nativeFunctions() {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return process.getBuiltinModule('node:ffi')
  } finally {
    process.emitWarning = emitWarning
  }
}
