import type { PropertyDefinition, PropertyName, properties, Role } from './properties.ts'

type Definition<Name extends PropertyName> = (typeof properties)[Name]
type ReadValue<Name extends PropertyName> =
  Definition<Name> extends PropertyDefinition<infer Value>
    ? Definition<Name>['fallback'] extends undefined
      ? Value | undefined
      : Value
    : never
type PlainName = Exclude<PropertyName, `${string}<name>${string}`>
type NamedProperty = Extract<PropertyName, `${string}<name>${string}`>

/** The checked configuration of one server. */
export interface Settings {
  readonly role: Role
  /** Returns the value of a property, or its default. */
  get<Name extends PlainName>(name: Name): ReadValue<Name>
  /** Returns the value of a property of the authenticator or authorizer `instance`. */
  getNamed<Name extends NamedProperty>(name: Name, instance: string): ReadValue<Name>
  /** Returns every property with its value as a string, without secrets. */
  list(): Readonly<Record<string, string>>
  /** The names of the properties that were set. */
  readonly names: readonly string[]
}
