import * as z from 'zod'

/** Schema of requests to LDAP directories, in order. */
export const directoryStepsShape = z
  .array(
    z.object({
      authenticator: z.string(),
      action: z.enum(['bind', 'searchUser', 'searchGroups', 'checkPassword']),
      url: z.string(),
      bindUser: z.string().describe('User name for binding to the directory; empty for an anonymous search'),
      baseDn: z.string().optional(),
      filter: z.string().optional().describe('Search filter that was sent'),
      found: z
        .array(z.string())
        .optional()
        .describe('Distinguished names of the first entries that were found'),
      memberOf: z.array(z.string()).optional().describe('Groups in the `memberOf` attribute of the user'),
      error: z.string().optional(),
      isPending: z.literal(true).optional().describe('The directory has not responded yet'),
      isEarlier: z
        .literal(true)
        .optional()
        .describe(
          'The request belongs to another login. Because it failed or is pending, the directory was not queried again',
        ),
    }),
  )
  .describe('Requests to directories, in order, without passwords')
