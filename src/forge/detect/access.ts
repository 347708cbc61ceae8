// May this process open a device node? Decided by the node's permission bits; nothing is opened, so nothing is woken.

import type { Access } from '../machine.ts';
import type { Ports } from '../ports.ts';

export function checkNodes(ports: Ports, nodes: readonly string[]): Access {
  for (const node of nodes) {
    const stat = ports.files.stat(node);
    if (!stat) return { state: 'missing', nodes, detail: `${node} does not exist` };
    if (!mayReadWrite(ports.user, stat)) {
      const group = groupName(ports, stat.gid);
      const mode = (stat.mode & 0o777).toString(8);
      return { state: 'denied', nodes, detail: `${node} has mode ${mode} and belongs to group ${group}` };
    }
  }
  return { state: 'ok', nodes, detail: `${nodes.join(', ')} may be read and written` };
}

function mayReadWrite(user: Ports['user'], stat: { mode: number; uid: number; gid: number }): boolean {
  if (user === undefined || user.uid === 0) return true;
  if (user.uid === stat.uid) return (stat.mode & 0o600) === 0o600;
  if (user.gids.includes(stat.gid)) return (stat.mode & 0o060) === 0o060;
  return (stat.mode & 0o006) === 0o006;
}

/** The group's name from /etc/group, or its number. */
function groupName(ports: Ports, gid: number): string {
  for (const line of (ports.files.read('/etc/group') ?? '').split('\n')) {
    const [name, , id] = line.split(':');
    if (name && Number(id) === gid && id !== '') return name;
  }
  return String(gid);
}
