/** The specification of a string codec is wrong: a step is unknown or at a wrong place, or a secret is missing. */
export class StringCodecError extends Error {
  /** Position of the wrong step in the specification, in UTF-16 code units from 0. */
  readonly position: number;

  /** @param message what is wrong and what is known, without the position, which is appended */
  constructor(message: string, position: number) {
    super(`${message} (at character ${position})`);
    this.name = 'StringCodecError';
    this.position = position;
  }
}
