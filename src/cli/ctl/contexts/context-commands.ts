import { mkdir, readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { noFailpoints } from '../../../platform/files/failpoints.ts';
import { writeFileDurably } from '../../../platform/files/files.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { CtlCommand, LocalContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { numberOption, textOption, TIMEOUT_SECONDS } from '../ctl-options.ts';
import { parseUrl } from '../ctl-target.ts';
import { parseOutputFormat, type Column } from '../output/view.ts';
import { printItems } from '../output/print-answer.ts';
import { findContext } from './apply-context.ts';
import {
  checkContextName,
  parseContexts,
  readContextFile,
  type ContextFile,
  type CtlServiceContext,
} from './context-file.ts';

/** Only the owner reads the file: a person may put a token into it. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

type Change = (document: {
  setIn(path: string[], value: unknown): void;
  deleteIn(path: string[]): unknown;
}) => void;

interface ListedContext {
  readonly name: string;
  readonly current: boolean;
  readonly service: string;
  readonly token: string;
}

const COLUMNS: ReadonlyArray<Column<ListedContext>> = [
  { title: 'CURRENT', cell: ({ current }) => (current ? '*' : '') },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'SERVICE', cell: ({ service }) => service },
  { title: 'TOKEN', cell: ({ token }) => token },
];

/** The commands for the file of contexts. */
export const CONTEXT_COMMANDS: readonly CtlCommand[] = [
  {
    name: 'context list',
    summary: 'lists the contexts: services with their addresses and tokens, by name',
    hasNames: true,
    isLocal: true,
    run: async (context) => {
      const { current, contexts } = await readContextFile(context.env);
      const rows = Object.entries(contexts).map(([name, each]): ListedContext => ({
        name,
        current: name === current,
        service: serviceOf(each),
        token: tokenOf(each),
      }));
      await printItems(context, rows, COLUMNS, ({ name }) => name);
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'context use',
    synopsis: 'CONTEXT',
    summary: 'makes a context the one that is used when none is named',
    words: [1, 1],
    isLocal: true,
    run: async (context) => {
      const [name = ''] = context.words;
      const file = await readContextFile(context.env);
      findContext(file, name);
      await change(file, (document) => document.setIn(['current'], name));
      context.stdout.write(`${name} is the current context\n`);
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'context set',
    synopsis: 'CONTEXT [OPTIONS]',
    summary:
      'stores --url or the options of a cluster, --token-file or --token-secret, --timeout and --output as a context, in place of an earlier one with this name; the first one becomes the current one',
    words: [1, 1],
    isLocal: true,
    run: async (context) => {
      const [name = ''] = context.words;
      checkContextName(name);
      const given = Object.entries(valuesOf(context)).filter(([, value]) => value !== undefined);
      if (given.length === 0) {
        throw new CtlFailure(CTL_EXITS.usage, 'give what to store, for example --url URL --token-file FILE');
      }
      const file = await readContextFile(context.env);
      await change(file, (document) => {
        document.setIn(['contexts', name], Object.fromEntries(given));
        if (file.current === null) document.setIn(['current'], name);
      });
      context.stdout.write(`${name} is stored\n`);
      return CTL_EXITS.ok;
    },
  },
  {
    name: 'context delete',
    synopsis: 'CONTEXT',
    summary: 'deletes a context; the file of its token stays',
    words: [1, 1],
    isLocal: true,
    run: async (context) => {
      const [name = ''] = context.words;
      const file = await readContextFile(context.env);
      findContext(file, name);
      await change(file, (document) => {
        document.deleteIn(['contexts', name]);
        if (file.current === name) document.deleteIn(['current']);
      });
      context.stdout.write(`${name} is deleted\n`);
      return CTL_EXITS.ok;
    },
  },
];

function valuesOf({ args }: LocalContext): CtlServiceContext {
  const url = textOption(args, 'url');
  const tokenFile = textOption(args, 'token-file');
  const timeout = textOption(args, 'timeout');
  const output = textOption(args, 'output');
  return {
    url: url === undefined ? undefined : parseUrl(url).href,
    tokenFile: tokenFile === undefined ? undefined : resolve(tokenFile),
    tokenSecret: textOption(args, 'token-secret'),
    kubectl: args.values.kubectl === true ? true : undefined,
    namespace: textOption(args, 'namespace'),
    kubeContext: textOption(args, 'context'),
    target: textOption(args, 'target'),
    targetPort: textOption(args, 'target-port'),
    timeoutSeconds: timeout === undefined ? undefined : numberOption(args, 'timeout', TIMEOUT_SECONDS),
    output: output === undefined ? undefined : parseOutputFormat(output),
  };
}

/** Changes the file that was read and keeps its comments. @throws CtlFailure */
async function change({ path }: ContextFile, apply: Change): Promise<void> {
  const { Document, parseDocument } = await import('yaml');
  try {
    await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
    const source = await readFile(path, 'utf8').catch(() => '');
    const document = source.trim() === '' ? new Document({}) : parseDocument(source);
    apply(document);
    parseContexts(document.toJS(), `${path} stays as it is, because it would not be valid`);
    await writeFileDurably(path, document.toString(), noFailpoints, FILE_MODE);
  } catch (error) {
    if (error instanceof CtlFailure) throw error;
    throw new CtlFailure(CTL_EXITS.failed, `${path} cannot be written: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function serviceOf({ url, namespace, kubeContext, target, kubectl }: CtlServiceContext): string {
  if (url !== undefined) return url;
  const parts = [kubeContext, namespace, target].filter((part) => part !== undefined);
  return parts.length > 0 || kubectl === true ? `cluster ${parts.join(' ')}`.trimEnd() : '-';
}

/** Where the token is, never the token. */
function tokenOf({ tokenFile, tokenSecret, token }: CtlServiceContext): string {
  if (tokenFile !== undefined) return tokenFile;
  if (tokenSecret !== undefined) return `Secret ${tokenSecret}`;
  return token === undefined ? '-' : 'in this file';
}
