import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { onTestFinished } from 'vitest';
import { freePorts } from './free-ports.ts';
import { pythonProgram } from './python-tools.ts';
import { hasTool } from './tools.ts';
import { until } from './until.ts';

/** Any signature will do: the server checks none, but tells signed requests from those of everybody. */
const SIGNED =
  'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0';

const python = hasTool('rclone') ? pythonProgram('s3-tools', null) : null;

/** Whether a bucket and the programs that fill it can be had here. */
export const HAS_S3 = python !== null;

/** A real S3 server on a port of this machine. */
export interface S3Server {
  readonly url: string;
  /** Makes a bucket. Everybody may read a public one. */
  makeBucket(name: string, access: 'public' | 'private'): Promise<void>;
  /** Replaces an object. */
  put(path: string, bytes: Buffer): Promise<void>;
  /** Runs a command line of the guide in a folder; `rclone` and `aws` are signed in. Returns what it wrote to standard error. */
  run(command: string, folder: string): string;
  /** Starts a program that runs until the test has ended, with the same credentials. */
  start(program: string, args: readonly string[]): void;
}

/** Starts the S3 server. It stops with the running test. */
export async function startS3Server(): Promise<S3Server> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const serve = `from moto.server import main; main(["-H", "127.0.0.1", "-p", "${port}"])`;
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_DEFAULT_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: url,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    RCLONE_CONFIG: '/dev/null',
    RCLONE_S3_PROVIDER: 'Other',
    RCLONE_S3_ENDPOINT: url,
    RCLONE_S3_ENV_AUTH: 'true',
  };
  // rclone refuses a store of certificates that is for other programs.
  delete environment['AWS_CA_BUNDLE'];
  const start = (program: string, args: readonly string[]): void => {
    const child = spawn(program, args, { stdio: 'ignore', env: environment });
    const exited = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await exited;
    });
  };
  start(python ?? '', ['-c', serve]);
  await until(async () => (await fetch(`${url}/moto-api/`)).ok);
  const put = async (path: string, body: string | Uint8Array<ArrayBuffer>): Promise<void> => {
    const answer = await fetch(`${url}/${path}`, { method: 'PUT', headers: { authorization: SIGNED }, body });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  return {
    url,
    makeBucket: async (name, access) => {
      await put(name, '');
      if (access === 'private') return;
      const statement = {
        Effect: 'Allow',
        Principal: '*',
        Action: 's3:GetObject',
        Resource: `arn:aws:s3:::${name}/*`,
      };
      await put(`${name}?policy`, JSON.stringify({ Version: '2012-10-17', Statement: [statement] }));
    },
    put: async (path, bytes) => {
      await put(path, new Uint8Array(bytes));
    },
    run: (command, folder) => {
      const line = command.replaceAll('REMOTE:', ':s3:').replace(/^aws /, `'${python ?? ''}' -m awscli `);
      const { status, stderr } = spawnSync('sh', ['-c', line], {
        cwd: folder,
        env: environment,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${command}: ${stderr}`);
      return stderr;
    },
    start,
  };
}
