/** Sets a field of an object, whatever its name: an assignment to `__proto__` would replace the prototype of the object. */
export function setField(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
  else object[name] = value
}
