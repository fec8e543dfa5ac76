/**
 * Named places in a write protocol where a test can make the process die or an operation fail. In production every
 * place is a no-op.
 */
export interface Failpoints {
  /** Called when the code reaches the place; a test's implementation may throw or end the process. */
  hit(name: string): void;
}

/** Failpoints that do nothing. */
export const noFailpoints: Failpoints = { hit: () => undefined };
