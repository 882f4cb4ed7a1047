import type { ReactNode } from 'react'

/** Names and values; what is not known is left out. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl>
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
