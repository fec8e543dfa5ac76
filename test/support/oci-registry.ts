import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from './free-ports.ts';
import { until } from './until.ts';

/**
 * Starts the reference registry of the OCI distribution specification on an empty folder.
 *
 * @param program its path
 * @returns host and port
 */
export async function startRegistry(
  directory: string,
  program: string,
  atEnd: (end: () => void) => void,
): Promise<string> {
  const [port = 0] = await freePorts(1);
  const configuration = {
    version: '0.1',
    storage: { filesystem: { rootdirectory: join(directory, 'registry') } },
    http: { addr: `127.0.0.1:${port}` },
  };
  const file = join(directory, 'registry.yml');
  await writeFile(file, JSON.stringify(configuration));
  const registry = spawn(program, ['serve', file], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', OTEL_TRACES_EXPORTER: 'none' },
  });
  atEnd(() => void registry.kill('SIGKILL'));
  const host = `127.0.0.1:${port}`;
  await until(async () => (await fetch(`http://${host}/v2/`)).ok);
  return host;
}
