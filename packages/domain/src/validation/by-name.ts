import { described, type Reader, readAnyObject, schemaOf } from './readers.ts'

/** Reads an object with any names, whose values are all read in the same way. */
export const byName = <Value>(read: Reader<Value>): Reader<Readonly<Record<string, Value>>> =>
  described({ type: 'object', additionalProperties: schemaOf(read) }, (json, field) =>
    Object.fromEntries(
      Object.entries(readAnyObject(json, field)).map(([name, value]) => [
        name,
        read(value, `${field}.${name}`),
      ]),
    ),
  )
