import type { ReactNode } from 'react'

/** Names and values; unknown values are left out. */
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
