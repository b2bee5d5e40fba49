import { useServerCertificates } from '../cluster/index.ts'
import { formatAge, formatSpan, Name, Problem, Sideways } from '../ui/index.ts'
import { certificateRows } from './certificate-rows.ts'

/** The certificates that the servers present, those with problems and those that expire first at the top. */
export function Certificates() {
  const { data, error } = useServerCertificates()
  if (error && !data) return <Problem>{error.message}</Problem>
  if (!data || data.servers.length === 0) return null
  const rows = certificateRows(data)
  return (
    <section aria-labelledby="certificates-title">
      <h2 id="certificates-title">Certificates</h2>
      <p className="hint">
        The certificates that servers present to each other, as the coordinator sees them.
      </p>
      <Sideways label="List of certificates">
        <table className="names">
          <thead>
            <tr>
              <th>server</th>
              <th>subject</th>
              <th>hosts</th>
              <th>issued by</th>
              <th className="right">valid since</th>
              <th className="right">expires</th>
              <th>state</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ role, server, certificate, state, isProblem, ageMs, leftMs }) => (
              <tr key={`${role} ${server}`}>
                <th scope="row">
                  {role}
                  <div className="dim small numbers">
                    <Name>{server}</Name>
                  </div>
                </th>
                <td>{certificate && <Name>{certificate.subject}</Name>}</td>
                <td className="small">{certificate && <Name>{certificate.names}</Name>}</td>
                <td>{certificate && <Name>{certificate.issuer}</Name>}</td>
                <td className="right nowrap" title={certificate?.validFrom}>
                  {ageMs !== undefined && (ageMs < 0 ? `in ${formatSpan(-ageMs)}` : formatAge(ageMs))}
                </td>
                <td className="right nowrap" title={certificate?.validTo}>
                  {leftMs !== undefined && (leftMs < 0 ? formatAge(-leftMs) : `in ${formatSpan(leftMs)}`)}
                </td>
                <td className={isProblem ? 'future-text' : 'dim'}>{state}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sideways>
    </section>
  )
}
