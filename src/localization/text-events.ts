/** Targets were stored, or what they must be judged by has changed. */
export interface TargetsChanged {
  readonly kind: 'targets_changed';
  /** The keys of the rules and Glossaries by which new targets were judged. */
  readonly judgedBy: readonly string[];
  /**
   * Whether what stored targets must be judged by may be another thing now: their places have changed, their container was
   * proofread, or their judgements were collected long before.
   */
  readonly hasMoved: boolean;
  /** Whether units may wait for the target of another one. */
  readonly mayRepeat: boolean;
  /** Whether a run of workers has stored them, which stores many batches. */
  readonly isOfRun: boolean;
}

/** A change of the main Glossary, or one import of many. */
export interface GlossaryChanged {
  readonly kind: 'glossary_changed';
  readonly generation: number;
}

/** Reviewers have replaced records of the main Translation Memory by others. */
export interface RecordsSuperseded {
  readonly kind: 'records_superseded';
  readonly recordIds: readonly string[];
}

/** What the parts that work with texts change for each other. */
export type TextEvent = TargetsChanged | GlossaryChanged | RecordsSuperseded;
