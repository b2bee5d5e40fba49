/** What the panel next to the lists shows: a user, role, or group mapping, or the form of a new one. */
export type Subject =
  | { readonly kind: 'user' | 'role' | 'mapping'; readonly name: string }
  | { readonly kind: 'newRole' | 'newMapping' }

/** Returns the address of the form of a new role or group mapping. */
export const newSubjectAddress = (kind: 'newRole' | 'newMapping'): string => `/access/${kind}`
