/** The names of the authenticator and the authorizer in both systems. */
export const authenticator = 'MyBasicMetadataAuthenticator'
export const authorizer = 'MyBasicMetadataAuthorizer'

/** The first passwords in both systems. */
export const passwords = { admin: 'password1', internal: 'password2' } as const

/** The properties for logins with users in the metadata store; `product` is the first part of their names. */
export function basicProperties(product: 'druid' | 'svc'): Readonly<Record<string, string>> {
  const prefix = `${product}.auth.authenticator.${authenticator}`
  return {
    [`${product}.auth.authenticatorChain`]: `["${authenticator}"]`,
    [`${prefix}.type`]: 'basic',
    [`${prefix}.initialAdminPassword`]: passwords.admin,
    [`${prefix}.initialInternalClientPassword`]: passwords.internal,
    [`${prefix}.credentialsValidator.type`]: 'metadata',
    [`${prefix}.authorizerName`]: authorizer,
    [`${product}.auth.authorizers`]: `["${authorizer}"]`,
    [`${product}.auth.authorizer.${authorizer}.type`]: 'basic',
    [`${product}.escalator.type`]: 'basic',
    // Druid creates its internal user with a fixed name.
    [`${product}.escalator.internalClientUsername`]: `${product}_system`,
    [`${product}.escalator.internalClientPassword`]: passwords.internal,
    [`${product}.escalator.authorizerName`]: authorizer,
  }
}
