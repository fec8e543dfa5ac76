import { z } from 'zod';
import { ReleaseChannelStatusSchema } from '../../contract/crd/release-channel.ts';

/** The part of an OpenAPI schema that decides whether the API server takes a value. */
export interface ValueSchema {
  readonly type?: string | undefined;
  readonly properties?: Readonly<Record<string, ValueSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: ValueSchema | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly maxLength?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean | undefined;
}

/** Reads a schema from an OpenAPI document. Everything else in it is left to the API server. */
export const ValueSchemaRead: z.ZodType<ValueSchema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    properties: z.record(z.string(), ValueSchemaRead).optional(),
    required: z.array(z.string()).optional(),
    items: ValueSchemaRead.optional(),
    enum: z.array(z.unknown()).optional(),
    maxLength: z.number().optional(),
    maxItems: z.number().optional(),
    'x-kubernetes-preserve-unknown-fields': z.boolean().optional(),
  }),
);

/** The schema of the status that this version writes. */
export const OWN_STATUS = ValueSchemaRead.parse(
  z.toJSONSchema(ReleaseChannelStatusSchema, { target: 'openapi-3.0' }),
);

/**
 * What a schema lacks of the status that this version writes, and what it demands beyond that, in the order of the fields.
 *
 * @param theirs the schema in the cluster; `undefined` when it has no status at all
 * @returns paths such as `.status.sync`, with the value for one that an enumeration lacks, or with the smaller size
 */
export function statusGaps(theirs: ValueSchema | undefined): readonly string[] {
  return [...gapsOf(OWN_STATUS, theirs, '.status')];
}

function* gapsOf(ours: ValueSchema, theirs: ValueSchema | undefined, path: string): Generator<string> {
  if (theirs === undefined || (theirs.type !== ours.type && !keepsAll(theirs))) {
    yield path;
    return;
  }
  if (keepsAll(theirs)) return;
  yield* valueGapsOf(ours, theirs, path);
  for (const [name, schema] of Object.entries(ours.properties ?? {})) {
    yield* gapsOf(schema, theirs.properties?.[name], `${path}.${name}`);
  }
  for (const name of theirs.required ?? []) {
    if (ours.properties !== undefined && ours.required?.includes(name) !== true)
      yield `${path}.${name} (required)`;
  }
  if (ours.items !== undefined) yield* gapsOf(ours.items, theirs.items, `${path}[]`);
}

/** Which values of a field without parts, and how much of a long one, a schema does not take. */
function* valueGapsOf(ours: ValueSchema, theirs: ValueSchema, path: string): Generator<string> {
  const lacking = theirs.enum === undefined ? [] : (ours.enum ?? []).filter((each) => !takes(theirs, each));
  for (const value of lacking) yield `${path}=${String(value)}`;
  if (ours.enum === undefined && theirs.enum !== undefined) yield `${path} (only some values)`;
  const most = theirs.maxItems ?? theirs.maxLength ?? Infinity;
  // An enumeration has its own bound.
  if (ours.enum === undefined && most < (ours.maxItems ?? ours.maxLength ?? Infinity)) {
    yield `${path} (at most ${most})`;
  }
}

/**
 * The largest part of a value that a schema takes: fields and list items that do not fit are left out, long texts are cut.
 *
 * @returns `undefined` when nothing of it fits
 */
export function fitToSchema(value: unknown, schema: ValueSchema | undefined): unknown {
  if (schema === undefined) return undefined;
  if (keepsAll(schema)) return value;
  if (Array.isArray(value)) {
    if (schema.type !== 'array') return undefined;
    const items = value.map((item: unknown) => fitToSchema(item, schema.items));
    return items.filter((item) => item !== undefined).slice(0, schema.maxItems);
  }
  if (typeof value === 'object' && value !== null) {
    if (schema.type !== 'object') return undefined;
    const fields = Object.entries(value).map(([name, field]) => {
      return [name, fitToSchema(field, schema.properties?.[name])] as const;
    });
    const kept = Object.fromEntries(fields.filter(([, field]) => field !== undefined));
    return (schema.required ?? []).every((name) => Object.hasOwn(kept, name)) ? kept : undefined;
  }
  if (!takes(schema, value)) return undefined;
  return typeof value === 'string' ? value.slice(0, schema.maxLength) : value;
}

function keepsAll(schema: ValueSchema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}

/** Whether a schema takes a value that has no parts. */
function takes(schema: ValueSchema, value: unknown): boolean {
  const type = typeof value === 'number' && schema.type === 'integer' ? 'integer' : typeof value;
  return type === schema.type && (schema.enum === undefined || schema.enum.includes(value));
}
