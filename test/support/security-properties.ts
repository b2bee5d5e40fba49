/** Security properties as `name=value`, for clusters of the plain profile that require logins. */

/** One metadata authenticator and authorizer, with the names and passwords of the recorded Druid cluster. */
export const metadataLoginProperties: readonly string[] = [
  ...basicAuthenticator('MyBasicMetadataAuthenticator', {
    authorizerName: 'MyBasicMetadataAuthorizer',
    initialAdminPassword: 'password1',
    initialInternalClientPassword: 'password2',
  }),
  'svc.auth.authenticatorChain=["MyBasicMetadataAuthenticator"]',
  'svc.auth.authorizers=["MyBasicMetadataAuthorizer"]',
  'svc.auth.authorizer.MyBasicMetadataAuthorizer.type=basic',
  ...escalator('password2', 'MyBasicMetadataAuthorizer'),
]

/** Two metadata authenticators; whether the first one passes unknown users on varies. */
export const chainProperties = (skipOnFailure: boolean): readonly string[] => [
  ...['A', 'B'].flatMap((name) =>
    basicAuthenticator(name, {
      authorizerName: `z${name.toLowerCase()}`,
      initialAdminPassword: `admin${name}-long-enough`,
      initialInternalClientPassword: `sys${name}-long-enough`,
    }),
  ),
  `svc.auth.authenticator.A.skipOnFailure=${skipOnFailure}`,
  'svc.auth.authenticatorChain=["A","B"]',
  'svc.auth.authorizers=["za","zb"]',
  'svc.auth.authorizer.za.type=basic',
  'svc.auth.authorizer.zb.type=basic',
  ...escalator('sysA-long-enough', 'za'),
]

/** The properties of a basic authenticator. */
function basicAuthenticator(name: string, properties: Readonly<Record<string, string>>): string[] {
  const prefix = `svc.auth.authenticator.${name}`
  return [
    `${prefix}.type=basic`,
    ...Object.entries(properties).map(([property, value]) => `${prefix}.${property}=${value}`),
  ]
}

/** The identity that servers use for each other. */
function escalator(password: string, authorizer: string): string[] {
  return [
    'svc.escalator.type=basic',
    'svc.escalator.internalClientUsername=svc_system',
    `svc.escalator.internalClientPassword=${password}`,
    `svc.escalator.authorizerName=${authorizer}`,
  ]
}
