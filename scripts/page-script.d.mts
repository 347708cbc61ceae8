import type { Plugin } from 'vite';

export function pageScript(): Plugin;
