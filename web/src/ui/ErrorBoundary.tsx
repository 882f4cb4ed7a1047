import { Component, type ReactNode } from 'react'

/** A message that replaces a page that cannot be rendered. Otherwise, the frame would be empty. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <div role="alert">
        <p>This page cannot be drawn: {error.message}</p>
        <p>
          The plan and the run are as they were. Load the page again; if it says the same, please report it with the plan (<code>graph-compiler explain NAME --format json</code>).
        </p>
      </div>
    )
  }
}
