import type { z } from 'zod';

/** The body of an answer: its schema and an example of it, which a test holds to the schema. */
export interface Answer<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
  readonly example: z.input<T>;
}

/** Pairs a schema with an example of it. */
export function answer<T extends z.ZodType>(schema: T, example: z.input<T>): Answer<T> {
  return { schema, example };
}
