/** The rules and the Glossary that a target was judged by. */
export interface JudgedBy {
  /** Another one for every change that can change a judgement. */
  readonly key: string;
  /** Of the main Glossary; `null` for another one. */
  readonly generation: number | null;
}

/**
 * Distinguishes containers that were proofread, in which a missing term can block.
 *
 * @param key of the rules and the Glossary
 */
export function containerKey(key: string, wasProofread: boolean): string {
  return wasProofread ? `${key} proofread` : key;
}
