/**
 * Builds the image, and packs it for a node with the image of pod sandboxes. In a process of its own, because it works while
 * the node starts.
 *
 *   node test/support/e2e-image-child.ts DIRECTORY IMAGE
 *
 * Writes DIRECTORY/images.tar.
 */
import { join } from 'node:path';
import process from 'node:process';
import { buildImage, makeBaseImage } from './container-image.ts';
import { startDocker } from './docker.ts';
import { PAUSE_COMMAND } from './kube-node.ts';

const BASE = 'localhost/base:1';
const PAUSE = 'localhost/pause:1';

const [directory = '', image = ''] = process.argv.slice(2);
const docker = await startDocker();
if (docker === null) throw new Error('no Docker daemon answers');
await makeBaseImage(docker, BASE, join(directory, 'base'));
buildImage(docker, BASE, image);
const container = docker.run('create', BASE, 'true');
docker.run('commit', `--change=ENTRYPOINT ${JSON.stringify(PAUSE_COMMAND)}`, container, PAUSE);
docker.run('save', '--output', join(directory, 'images.tar'), image, PAUSE);
await docker.stop();
