import { invalidInput } from '@svc/domain/failure'

// Each piece costs a server several microseconds, however short it is.
const minAverageBytes = 32
const maxShortPieces = 1000

/** The failure of a request that arrives in too many short pieces. */
export const tooManyPieces = invalidInput(
  `The request arrives in too many short pieces: expected at least [${minAverageBytes}] bytes per chunk on average`,
)

/** Counts the pieces in which something arrives. */
export class PieceCount {
  private pieces = 0
  private bytes = 0

  /** Counts a piece. Returns whether there are now too many pieces for the bytes that they contain. */
  add(bytes: number): boolean {
    this.pieces += 1
    this.bytes += bytes
    return this.pieces > maxShortPieces && this.bytes < this.pieces * minAverageBytes
  }
}
