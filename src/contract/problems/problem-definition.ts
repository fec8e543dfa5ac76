export interface ProblemDefinition {
  readonly status: number;
  readonly title: string;
  /** For the reference: when it happens and what to do. */
  readonly description: string;
}
