import { useQuery } from '@tanstack/react-query'
import type { DataServer } from '../cluster/index.ts'
import { fetchJson, hasCluster } from '../session/index.ts'
import { Dialog, Name, Problem } from '../ui/index.ts'

/** Whether servers can be explained. A snapshot does not say what its servers are doing. */
export const canExplainServers = hasCluster

/** Why a server is as full as it is, what it is doing, and why it gets no more loads. */
export function ServerDialog({ server, onClose }: { readonly server: DataServer; onClose(): void }) {
  const { host, tier } = server
  const { data, error } = useQuery({
    queryKey: ['explainServer', host],
    queryFn: () =>
      fetchJson<{ readonly sentences: readonly string[] }>(
        `/svc/coordinator/v1/servers/${encodeURIComponent(host)}/explain`,
      ),
    retry: false,
  })
  const title = (
    <>
      Why: <Name>{host}</Name> in <Name>{tier}</Name>
    </>
  )
  return (
    <Dialog className="explained-server" title={title} onClose={onClose}>
      {() => (
        <>
          {error && <Problem>{error.message}</Problem>}
          {!data && !error && <p className="dim">Loading the explanation…</p>}
          <ul className="sentences">
            {data?.sentences.map((text) => (
              <li key={text}>
                <bdi>{text}</bdi>.
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
