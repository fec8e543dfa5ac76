import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const FILE = resolve(import.meta.dirname, '../../deploy/compose/compose.yaml');

interface Service {
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

/**
 * Writes the compose file of the repository for a Docker daemon without a bridge: its services share the network of this machine,
 * with other ports. The rest is as printed.
 *
 * @param directory where to write it
 * @param ports variables of services that name ports, by service
 * @returns the path of the file
 */
export async function writeHostCompose(
  directory: string,
  ports: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<string> {
  const file = parse(await readFile(FILE, 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: object;
  };
  const services = Object.fromEntries(
    Object.entries(file.services)
      // Its image cannot be pulled.
      .filter(([name]) => name !== 'caddy')
      .map(([name, { ports: _ports, ...service }]) => [
        name,
        {
          ...service,
          network_mode: service['network_mode'] ?? 'host',
          environment: { ...service.environment, ...ports[name] },
        },
      ]),
  );
  const path = join(directory, 'compose.yaml');
  // JSON, because docker-compose 1.29 reads the string no of YAML 1.2 as false. It asks for the version of the format.
  await writeFile(path, JSON.stringify({ version: '3.9', services, volumes: file.volumes }));
  return path;
}
