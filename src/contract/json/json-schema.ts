import { z } from 'zod';

/** A JSON Schema document or a part of it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * Renders named schemas that refer to each other by name, for the components of an OpenAPI 3.0 document.
 *
 * @param named schemas by component name
 * @returns JSON Schemas by component name
 */
export function renderComponents(named: ReadonlyMap<string, z.ZodType>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of named) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'any',
    override,
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => {
      const { $id: _id, ...rest } = schema as Record<string, unknown>;
      return [id, allowNull(rest) as JsonSchema];
    }),
  );
}

/**
 * Renders one schema of a parameter for an OpenAPI 3.0 document: what its text means, not that it is text. All bounds of an
 * integer are kept, since a larger one is refused.
 */
export function renderParameterSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'output', unrepresentable: 'any' });
}

/** Renders one self-contained schema as JSON Schema 2020-12. */
export function renderJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any', override });
}

/** The bounds that zod gives every integer say nothing: leave them out, name int64 instead. */
const override: Override = ({ jsonSchema }) => {
  if (jsonSchema.type !== 'integer') return;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

/**
 * In OpenAPI 3.0 `nullable` widens only the `type` beside it: an enumeration has to list null, and a reference needs an
 * alternative. zod writes neither.
 *
 * Source: OpenAPI Specification 3.0.3, "nullable", and the proposal "Clarify Semantics of nullable" (2019-10-31).
 */
function allowNull(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(allowNull);
  if (typeof node !== 'object' || node === null) return node;
  const schema = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, allowNull(value)]));
  if (schema['nullable'] !== true) return schema;
  if (Array.isArray(schema['enum'])) return { ...schema, enum: [...schema['enum'], null] };
  if (!Array.isArray(schema['allOf'])) return schema;
  const { allOf, nullable: _nullable, ...rest } = schema;
  return { ...rest, anyOf: [...(allOf as unknown[]), { type: 'object', nullable: true, enum: [null] }] };
}
