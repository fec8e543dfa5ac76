import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProgramRun } from './helm.ts';
import type { KubeApi } from './kube-control-plane.ts';
import { until, WAIT_MS } from './until.ts';

/** An OpenAPI 2 schema, as an API server describes its types. */
interface Schema {
  readonly [keyword: string]: unknown;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
  readonly additionalProperties?: Schema | boolean;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const DEFINITIONS = '#/definitions/';
/** The name that kubeconform looks for. For the core group it uses the version in place of the group. */
const FILE_PATTERN = '{{.Group}}_{{.ResourceAPIVersion}}_{{.ResourceKind}}.json';

/**
 * Writes a schema for every kind that an API server knows. The schemas reject unknown fields.
 *
 * @param definitions waits until the API server describes these as well; those of a CRD appear shortly after it
 */
export async function writeKindSchemas(
  cluster: KubeApi,
  directory: string,
  definitions: readonly string[],
): Promise<void> {
  let known: Readonly<Record<string, Schema>> = {};
  await until(
    async () => {
      const { body } = await cluster.request('GET', '/openapi/v2');
      known = (body as { definitions: Record<string, Schema> }).definitions;
      return definitions.every((name) => known[name] !== undefined);
      // The answer has megabytes.
    },
    WAIT_MS,
    2000,
  );
  for (const [name, definition] of Object.entries(known)) {
    const kinds = (definition['x-kubernetes-group-version-kind'] ?? []) as readonly GroupVersionKind[];
    for (const { group, version, kind } of kinds) {
      const file = `${group === '' ? version : group}_${version}_${kind.toLowerCase()}.json`;
      const schema = { $ref: DEFINITIONS + name, definitions: withAllItNeeds(name, known) };
      await writeFile(join(directory, file), JSON.stringify(schema));
    }
  }
}

/** Runs kubeconform on objects with the schemas of {@link writeKindSchemas}; a kind without a schema fails. */
export function runKubeconform(kubeconform: string, directory: string, objects: string): ProgramRun {
  const run = spawnSync(
    kubeconform,
    ['-strict', '-output', 'json', '-verbose', '-schema-location', join(directory, FILE_PATTERN)],
    { encoding: 'utf8', input: objects },
  );
  return { code: run.status, stdout: run.stdout, stderr: run.stderr };
}

function withAllItNeeds(root: string, known: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  const pending = [root];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const definition = known[name];
    if (definition === undefined || found[name] !== undefined) continue;
    found[name] = strict(definition, (reference) => pending.push(reference.slice(DEFINITIONS.length)));
  }
  return found;
}

function strict(schema: Schema, onReference: (reference: string) => void): Schema {
  const { $ref, properties, items, additionalProperties: others, type, format } = schema;
  if ($ref !== undefined) {
    onReference($ref);
    return { $ref };
  }
  if (format === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true) {
    return { type: ['integer', 'string'] };
  }
  const isOpen = properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    type,
    enum: schema['enum'],
    required: schema['required'],
    items: items && strict(items, onReference),
    properties:
      properties &&
      Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, strict(property, onReference)]),
      ),
    additionalProperties: typeof others === 'object' ? strict(others, onReference) : isOpen,
  };
}
