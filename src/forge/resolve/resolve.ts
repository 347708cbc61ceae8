// The answer for a machine: the build that fits, or why none does and what can be done about it.

import type { Tables } from '../data/schemas.ts';
import { choose } from './choose.ts';
import type { Resolution, ResolveRequest } from './types.ts';
import { waysOut } from './ways.ts';

export { listBuilds } from './choose.ts';

export const resolve = (tables: Tables, request: ResolveRequest, dataReviewed = ''): Resolution =>
  choose(tables, request, dataReviewed, waysOut);
