import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type SchemaOverride = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * Renders one schema of a parameter for an OpenAPI 3.0 document: what its text means, not that it is text. All bounds of an
 * integer are kept, since a larger one is refused.
 */
export function renderParameterSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'output', unrepresentable: 'any' });
}

/** Renders one self-contained schema as JSON Schema 2020-12. */
export function renderJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
    override: withoutIntegerBounds,
  });
}

/** The bounds that zod gives every integer say nothing: leave them out. */
export const withoutIntegerBounds: SchemaOverride = ({ jsonSchema }) => {
  if (jsonSchema.type !== 'integer') return;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};
