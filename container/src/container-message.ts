// A container is configured with environment variables and a volume instead of the options of the command.
const rewordings: readonly (readonly [RegExp, string])[] = [
  // The home of a container is its volume, so no command needs its path.
  [/(\bsvc (?:down|logs|password|reset|up)) --home (?:'[^']*'|\S*[^\s,.)])/g, '$1'],
  [/Option (?=--(?:historicals|instances|profile|admin-password)\b)/g, 'Variable '],
  [/--historicals\b/g, 'SVC_HISTORICALS'],
  [/--instances\b/g, 'SVC_INSTANCES'],
  [/--profile\b/g, 'SVC_PROFILE'],
  [/--admin-password\b/g, 'SVC_ADMIN_PASSWORD'],
  [/, or use other ports with --port-offset \d+/g, ', or run the container in its own network'],
  [/Stop it with (?:\.\/)?svc down/g, 'Stop the container that uses this volume'],
  [/Run (?:\.\/)?svc as the user who created the home/g, 'Run the container as this user'],
  [/Run (?:\.\/)?svc as another user/g, 'Run the container as another user'],
  [
    /select an accessible folder with --home, for example --home \S+\w/g,
    'mount a volume that other users can access at [/data]',
  ],
  [/ \((?:\.\/)?svc password shows it\)/g, ' (svc password shows it)'],
  [
    /Install redis-server or valkey-server on PATH, for example with: sudo apt-get install redis-server/g,
    'Use an image that has valkey-server or redis-server on PATH',
  ],
  [/Delete all state of this home with (?:\.\/)?svc reset/g, 'Delete the volume'],
  [/start over with (?:\.\/)?svc reset/g, 'start over with a new volume'],
  [/Select another (?:home|folder) with --home/g, 'Mount another volume at [/data]'],
  [/select another (?:home|folder) with --home/g, 'mount another volume at [/data]'],
]

/** A message of the command about a cluster, in terms of the container that the cluster runs in. */
export const containerMessage = (message: string): string =>
  rewordings.reduce((text, [found, replacement]) => text.replace(found, replacement), message)
