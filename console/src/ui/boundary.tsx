import { Component, type ReactNode } from 'react'
import { Empty } from './notice.tsx'

interface BoundaryInput {
  readonly children: ReactNode
  /** What is shown. The failure of one place is not shown at another. */
  readonly place?: string
  /** Called before the children are rendered again. */
  onRetry?(): void
}

interface BoundaryState {
  readonly problem: string | undefined
}

/** Shows what failed in a part of the page instead of a blank page, with a button that renders this part again. */
export class Boundary extends Component<BoundaryInput, BoundaryState> {
  override readonly state: BoundaryState = { problem: undefined }

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { problem: error instanceof Error ? error.message : String(error) }
  }

  override componentDidUpdate({ place }: BoundaryInput): void {
    if (place !== this.props.place && this.state.problem !== undefined) this.retry()
  }

  private readonly retry = (): void => {
    this.props.onRetry?.()
    this.setState({ problem: undefined })
  }

  override render(): ReactNode {
    const { problem } = this.state
    if (problem === undefined) return this.props.children
    return (
      <div role="alert">
        <Empty title="Failed to show this part of the page">
          <p>{problem}</p>
          <p className="dim">Unsaved edits are kept while this page stays open.</p>
          <div className="row">
            <button type="button" className="primary" onClick={this.retry}>
              Try again
            </button>
            <button type="button" onClick={() => location.reload()}>
              Reload the page
            </button>
          </div>
        </Empty>
      </div>
    )
  }
}
