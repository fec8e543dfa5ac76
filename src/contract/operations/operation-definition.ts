import type { z } from 'zod';
import type { ProblemCode } from '../problems/problems.ts';
import type { ReportName } from '../reports/reports.ts';
import type { QuerySchema } from '../schemas/query.ts';

/** The body of an answer. */
export interface Answer<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
}

export type AnswerDefinition =
  | {
      readonly kind: 'json';
      readonly description: string;
      readonly name: string;
      readonly answer: Answer;
    }
  | { readonly kind: 'problem'; readonly description: string; readonly codes: readonly ProblemCode[] }
  | { readonly kind: 'content'; readonly description: string; readonly mediaType: string }
  | { readonly kind: 'empty'; readonly description: string };

export interface OperationDefinition {
  readonly method: 'get' | 'head' | 'post';
  /** Path template in OpenAPI syntax. */
  readonly path: string;
  readonly tag: 'Health' | 'Release' | 'Launcher' | 'CDN' | 'Service' | 'Admin' | 'Control';
  readonly summary: string;
  readonly query: QuerySchema;
  readonly body?: z.ZodType;
  /** `none`: never needs a token; `public`: needs one only where the server is configured so; `admin`: always. */
  readonly auth: 'none' | 'public' | 'admin';
  readonly daemon?: { readonly report: ReportName } | { readonly control: true };
  /** Whether parameters that are not declared are ignored (public routes) or refused (admin routes). */
  readonly tolerateUnknownQuery: boolean;
  readonly answers: Readonly<Record<number, AnswerDefinition>>;
}

/** An answer with a JSON body. */
export function json<T extends Answer>(
  name: string,
  body: T,
  description: string,
): { readonly kind: 'json'; readonly description: string; readonly name: string; readonly answer: T } {
  return { kind: 'json', description, name, answer: body };
}

/** An answer with a problem body that carries one of these codes. */
export function problem(description: string, ...codes: readonly ProblemCode[]): AnswerDefinition {
  return { kind: 'problem', description, codes };
}

/** An answer with a body of another media type. */
export function content(mediaType: string, description: string): AnswerDefinition {
  return { kind: 'content', description, mediaType };
}

/** An answer without a body. */
export function empty(description: string): AnswerDefinition {
  return { kind: 'empty', description };
}

/** The answer to a right token that asks for more than its limits allow. */
export const TOO_MANY_REQUESTS = problem(
  'The token has reached a limit; `Retry-After` says when to ask again.',
  'too_many_requests',
);
