import { z } from 'zod';
import {
  withoutIntegerBounds,
  type JsonSchema,
  type SchemaOverride,
} from '../../src/contract/json/json-schema.ts';

const COMPONENTS = '#/components/schemas/';

/**
 * Renders named schemas that refer to each other by name, for the components of an OpenAPI 3.0 document. Every integer has a format:
 * without one, generated clients read 32 bits.
 */
export function renderComponents(named: ReadonlyMap<string, z.ZodType>): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of named) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'any',
    override: overrideOfComponent,
    uri: (id) => `${COMPONENTS}${id}`,
  });
  const components = new Map(
    Object.entries(schemas).map(([id, schema]) => {
      const { $id: _id, ...rest } = schema as Record<string, unknown>;
      return [id, rest];
    }),
  );
  return Object.fromEntries(
    [...components].map(([id, schema]) => [id, allowNull(schema, components) as JsonSchema]),
  );
}

const overrideOfComponent: SchemaOverride = (context) => {
  withoutIntegerBounds(context);
  const { jsonSchema } = context;
  if (jsonSchema.type === 'integer') jsonSchema.format ??= 'int64';
};

/**
 * In OpenAPI 3.0 `nullable` widens only the `type` beside it: an enumeration has to list null, and a reference is replaced by what it
 * names. zod does neither.
 *
 * @param within the components that are being put in place of their references
 * @throws Error for a nullable schema that is no reference, or that contains itself
 * Source: OpenAPI Specification 3.0.3, "nullable", and the proposal "Clarify Semantics of nullable" (2019-10-31).
 */
function allowNull(
  node: unknown,
  components: ReadonlyMap<string, JsonSchema>,
  within: readonly string[] = [],
): unknown {
  if (Array.isArray(node)) return node.map((each) => allowNull(each, components, within));
  if (typeof node !== 'object' || node === null) return node;
  const schema = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, allowNull(value, components, within)]),
  );
  if (schema['nullable'] !== true) return schema;
  if (Array.isArray(schema['enum'])) return { ...schema, enum: [...schema['enum'], null] };
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  const [only, ...others] = allOf as ReadonlyArray<JsonSchema | undefined>;
  const id = String(only?.['$ref']).replace(COMPONENTS, '');
  const component = components.get(id);
  if (component === undefined || others.length > 0) {
    throw new Error(`a nullable schema can only be a reference to a component, not ${JSON.stringify(allOf)}`);
  }
  if (within.includes(id)) {
    throw new Error(
      `the component ${id} contains itself as nullable, which OpenAPI 3.0 cannot say without end`,
    );
  }
  const named = allowNull(component, components, [...within, id]);
  return { ...(named as JsonSchema), ...rest };
}
