import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { TIMEOUT_SECONDS } from '../ctl-options.ts';
import { OUTPUT_FORMATS } from '../output/view.ts';

/** Names of contexts: letters, digits and a few marks, so that no shell needs quotes. */
const CONTEXT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const RIGHTS_OF_OTHERS = 0o077;

const text = z.string().min(1, 'must not be empty');
const CLUSTER_KEYS = ['kubectl', 'namespace', 'kubeContext', 'target', 'targetPort'] as const;
const TOKEN_KEYS = ['tokenFile', 'tokenSecret', 'token'] as const;

const ContextSchema = z
  .strictObject({
    url: text,
    tokenFile: text,
    token: text,
    tokenSecret: text,
    kubectl: z.boolean(),
    namespace: text,
    kubeContext: text,
    target: text,
    targetPort: z.union([text, z.int()]),
    timeoutSeconds: z.int().min(TIMEOUT_SECONDS.min).max(TIMEOUT_SECONDS.max),
    output: z.enum(OUTPUT_FORMATS),
  })
  .partial()
  .superRefine((context, issues) => {
    const given = (keys: ReadonlyArray<keyof typeof context>): readonly string[] =>
      keys.filter((key) => context[key] !== undefined && context[key] !== false);
    const cluster = given(CLUSTER_KEYS);
    const tokens = given(TOKEN_KEYS);
    const hasUrl = context.url !== undefined;
    if (!hasUrl && cluster.length === 0) {
      issues.addIssue(`needs an address: url, or one of ${CLUSTER_KEYS.join(', ')}`);
    }
    if (hasUrl && cluster.length > 0)
      issues.addIssue(`has url and ${cluster.join(', ')}; leave one of them out`);
    if (tokens.length > 1) issues.addIssue(`has ${tokens.join(' and ')}; leave one of them out`);
  });

const FileSchema = z.strictObject({
  current: z.string().optional(),
  contexts: z.record(z.string().regex(CONTEXT_NAME), ContextSchema).default({}),
});

/** One service, and how to reach it. */
export type CtlServiceContext = z.infer<typeof ContextSchema>;

/** The file of contexts as it is read. */
export interface ContextFile {
  readonly path: string;
  /** The name of the context that is used when none is named. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, CtlServiceContext>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The path of the file: SLIPWAY_CTL_CONFIG, else `slipway/ctl.yaml` in the folder for configuration. */
function contextFilePath(env: Environment): string {
  const own = env['SLIPWAY_CTL_CONFIG'] ?? '';
  if (own !== '') return resolve(own);
  const home = env['XDG_CONFIG_HOME'] ?? '';
  return join(home === '' ? join(env['HOME'] ?? '/', '.config') : home, 'slipway', 'ctl.yaml');
}

/**
 * Reads the file of contexts. One that holds a token must be closed to everyone but its owner.
 *
 * @returns no contexts when there is no file
 * @throws CtlFailure
 */
export async function readContextFile(env: Environment): Promise<ContextFile> {
  const path = contextFilePath(env);
  const source = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw invalid(`${path} cannot be read: ${messageOf(error)}`);
  });
  if (source === null) return { path, current: null, contexts: {} };
  // The library for YAML is loaded only where there is a file.
  const { parseConfigurationFile } = await import('../../../platform/config/configuration-file.ts');
  const mapping = parseConfigurationFile(source, path);
  if (!mapping.ok) throw invalid(mapping.error.join('\n'));
  const { current, contexts } = parseContexts(mapping.value, `config file ${path} is not valid`);
  const holdsToken = Object.values(contexts).some(({ token }) => token !== undefined);
  if (holdsToken && ((await stat(path)).mode & RIGHTS_OF_OTHERS) !== 0) {
    throw invalid(`${path} holds a token, and others can open it; run chmod 600 ${path}, or use tokenFile`);
  }
  return { path, current: current ?? null, contexts };
}

/**
 * Parses the content of the file.
 *
 * @param problem the first line of the message when it is not valid
 * @throws CtlFailure
 */
export function parseContexts(value: unknown, problem: string): z.infer<typeof FileSchema> {
  const parsed = FileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw invalid([`${problem}:`, ...lines].join('\n'));
}

/**
 * Checks the name of a new context.
 *
 * @throws CtlFailure
 */
export function checkContextName(name: string): void {
  if (CONTEXT_NAME.test(name)) return;
  throw invalid(
    `"${name}" cannot be the name of a context: use 1 to 63 letters, digits, ".", "_" or "-", and begin with a letter or digit`,
  );
}

/** The path of a token file of a context: relative to the file of contexts, `~/` is the home folder. */
export function tokenFileOf(file: string, configPath: string, env: Environment): string {
  if (file.startsWith('~/')) return join(env['HOME'] ?? '/', file.slice(2));
  return resolve(dirname(configPath), file);
}

function invalid(message: string): CtlFailure {
  return new CtlFailure(CTL_EXITS.usage, message);
}
