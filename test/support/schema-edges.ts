import type { JsonSchema } from '../../src/contract/json/json-schema.ts';

/** A value at an edge of its schema, as JSON text so that no digit is lost, and the place of the error. */
export interface BadValue {
  readonly json: string;
  /** RFC 6901, relative to the value; empty for the value itself. */
  readonly pointer: string;
}

/** Values just inside and just outside a schema. */
export interface Edges {
  readonly good: readonly string[];
  readonly bad: readonly BadValue[];
}

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

/** Lists the edges of a schema: bounds, types, null, members and items, to any depth. */
export function edgesOf(schema: JsonSchema): Edges {
  switch (schema['type']) {
    case 'boolean':
      return edges(['true', 'false'], ['0', '"true"', 'null', '[]', '{}']);
    case 'integer':
      return integerEdges(schema);
    case 'string':
      return stringEdges(schema);
    case 'array':
      return arrayEdges(schema);
    case 'object':
      return objectEdges(schema);
    default:
      throw new Error(`no edges are known of ${JSON.stringify(schema)}`);
  }
}

function integerEdges(schema: JsonSchema): Edges {
  const bound = (name: string, fallback: bigint): bigint =>
    typeof schema[name] === 'number' ? BigInt(schema[name]) : fallback;
  const [min, max] = [bound('minimum', INT64.min), bound('maximum', INT64.max)];
  const beyondDouble = [2n ** 53n + 1n, -(2n ** 53n) - 1n].filter((value) => value >= min && value <= max);
  return edges([min, min + 1n, max - 1n, max, ...beyondDouble].map(String), [
    String(min - 1n),
    String(max + 1n),
    '1.5',
    '"1"',
    'null',
    'true',
    '[]',
    '{}',
  ]);
}

function stringEdges(schema: JsonSchema): Edges {
  const wrong = ['1', 'null', 'true', '[]', '{}'];
  if (Array.isArray(schema['enum'])) {
    return edges((schema['enum'] as string[]).map(quoted), ['""', '"nothing-of-the-list"', ...wrong]);
  }
  const { minLength = 0, maxLength } = schema as { minLength?: number; maxLength?: number };
  if (maxLength === undefined) throw new Error('a string without a bound');
  // The shortest comes first, because others are built from it. An empty text is left out, because some fields have a
  // rule against it.
  return edges(
    ['"剣"', '"\\ud83d\\ude00"', quoted('x'.repeat(Math.max(1, minLength))), quoted('x'.repeat(maxLength))],
    [
      quoted('x'.repeat(maxLength + 1)),
      ...(minLength > 0 ? [quoted('x'.repeat(minLength - 1))] : []),
      ...wrong,
    ],
  );
}

function arrayEdges(schema: JsonSchema): Edges {
  const items = schema['items'] as JsonSchema;
  const { maxItems } = schema as { maxItems?: number };
  if (maxItems === undefined) throw new Error('a list without a bound');
  const inner = edgesOf(items);
  const [least = ''] = inner.good;
  const list = (count: number): string => `[${Array.from({ length: count }, () => least).join(',')}]`;
  return {
    good: ['[]', list(maxItems), ...inner.good.map((each) => `[${each}]`)],
    bad: [
      ...edges([], [list(maxItems + 1), '"x"', '1', 'null', 'true', '{}']).bad,
      ...inner.bad.map(({ json, pointer }) => ({ json: `[${least},${json}]`, pointer: `/1${pointer}` })),
    ],
  };
}

function objectEdges(schema: JsonSchema): Edges {
  const wrong = edges([], ['[]', '"x"', '1', 'null', 'true']).bad;
  const additional = schema['additionalProperties'];
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>> | undefined;
  if (properties === undefined) {
    const inner = edgesOf(additional as JsonSchema);
    return {
      good: ['{}', ...inner.good.map((each) => `{"k":${each}}`)],
      bad: [
        ...wrong,
        ...inner.bad.map(({ json, pointer }) => ({ json: `{"k":${json}}`, pointer: `/k${pointer}` })),
      ],
    };
  }
  if (additional !== false) throw new Error('an object that takes any member');
  const required = (schema['required'] ?? []) as readonly string[];
  const members = Object.entries(properties).map(([name, member]) => ({ name, ...edgesOf(member) }));
  /** The smallest valid object, with one member replaced. */
  const having = (name: string | null, json: string): string => {
    const parts = members
      .filter((member) => member.name === name || required.includes(member.name))
      .map((member) => `${quoted(member.name)}:${member.name === name ? json : (member.good[0] ?? 'null')}`);
    return `{${parts.join(',')}}`;
  };
  const whole = having(null, '');
  return {
    good: [whole, ...members.flatMap(({ name, good }) => good.map((each) => having(name, each)))],
    bad: [
      ...wrong,
      ...members.flatMap(({ name, bad }) =>
        bad.map(({ json, pointer }) => ({ json: having(name, json), pointer: `/${name}${pointer}` })),
      ),
      ...required.map((name) => {
        const rest = members.filter((each) => each.name !== name && required.includes(each.name));
        const json = `{${rest.map((each) => `${quoted(each.name)}:${each.good[0] ?? ''}`).join(',')}}`;
        return { json, pointer: `/${name}` };
      }),
      {
        json: whole.replace(/\}$/, `${whole === '{}' ? '' : ','}"nothing_of_it":1}`),
        pointer: '/nothing_of_it',
      },
    ],
  };
}

function edges(good: readonly string[], bad: readonly string[]): Edges {
  return { good, bad: bad.map((json) => ({ json, pointer: '' })) };
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
