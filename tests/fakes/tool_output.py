# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makers' tools print, in their older and newer forms, for two devices at addresses that the tests use.

Written for the tests after the forms that the tools have; the numbers are made up.
"""

from __future__ import annotations

import json
from typing import Any

FIRST, SECOND = "0000:18:00.0", "0000:3b:00.0"

_GPU = """<gpu id="0000{bus}"><product_name>{name}</product_name>{mig}<serial>{serial}</serial><uuid>{uuid}</uuid>
<minor_number>{minor}</minor_number><vbios_version>96.00.01</vbios_version>
<gsp_firmware_version>580.10.1</gsp_firmware_version>
<pci><pci_bus_id>0000{bus}</pci_bus_id></pci><fb_memory_usage><total>{memory}</total></fb_memory_usage>
<ecc_mode><current_ecc>{ecc}</current_ecc></ecc_mode>
<remapped_rows><remapped_row_corr>3</remapped_row_corr><remapped_row_unc>0</remapped_row_unc>
<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
<{power}><{limit}>{watts}</{limit}></{power}>
<fabric><state>{fabric}</state><cliqueId>4</cliqueId><clusterUuid>{cluster}</clusterUuid></fabric></gpu>"""

CLUSTER = "12345678-0000-0000-0000-000000000001"


def nvidia_gpu(bus: str, minor: int, **other: str) -> str:
    """One ``<gpu>`` in the newest form; with ``power="power_readings", limit="power_limit"`` in an older one."""
    words = {
        "bus": bus.upper(),
        "minor": str(minor),
        "name": "NVIDIA H100",
        "serial": f"132012100{minor}",
        "uuid": f"GPU-12345678-0000-0000-0000-00000000000{minor}",
        "memory": "81559 MiB",
        "ecc": "Enabled",
        "power": "gpu_power_readings",
        "limit": "current_power_limit",
        "watts": "650.50 W",
        "fabric": "Completed",
        "cluster": CLUSTER,
        "mig": "",
    }
    return _GPU.format(**{**words, **other})


LOST = dict.fromkeys(("name", "serial", "uuid", "memory", "ecc", "watts", "fabric"), "GPU is lost")


def nvidia_log(*gpus: str, driver: str = "580.10.1", head: str = '<!DOCTYPE nvidia_smi_log SYSTEM "v13.dtd">') -> str:
    """What ``nvidia-smi -q -x`` prints."""
    version = f"<driver_version>{driver}</driver_version>"
    return f'<?xml version="1.0" ?>\n{head}\n<nvidia_smi_log>{version}{"".join(gpus)}</nvidia_smi_log>\n'


def nvidia(**other: str) -> str:
    return nvidia_log(nvidia_gpu(FIRST, 0, **other), nvidia_gpu(SECOND, 1, **other))


NVIDIA_OLD = nvidia_log(
    *(nvidia_gpu(bus, n, power="power_readings", limit="power_limit") for n, bus in enumerate((FIRST, SECOND))), head=""
)
TOPO = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\x1b[0m\n"
    "GPU0\t X \tNV18\tPIX\t0-7\nGPU1\tNV18\t X \tSYS\t8-15\nNIC0\tPIX\tSYS\t X\n"
)


def amd_static(new: bool) -> str:
    """``amd-smi static --json`` of ROCm 7.2, or of 6.1."""
    cards: list[dict[str, Any]] = []
    for number, bus in enumerate((FIRST, SECOND)):
        limit = {"socket_power_limit" if new else "socket_power": {"value": 700, "unit": "W"}}
        cards.append(
            {
                "gpu": number,
                "asic": {"market_name": "AMD Instinct MI300X", "asic_serial": f"0xABCD00000000000{number}"},
                "bus": {"bdf": bus},
                "ifwi" if new else "vbios": {"part_number": "113-M300-01", "version": "1"},
                "limit": {"ppt0": limit} if new else limit,
                "driver": {"name": "amdgpu", "version": "6.12.1"},
                "board": {"product_serial": f"69000{number}"},
                "ras": {"ecc_block_state": {"UMC": "ENABLED"}},
                "vram": {"type": "HBM3", "size": {"value": 196592, "unit": "MB"}},
            }
        )
    return "WARNING: a device sleeps\n" + json.dumps({"gpu_data": cards} if new else cards, indent=1)


AMD_TOPOLOGY = json.dumps(
    [
        {"gpu": a, "links": [{"gpu": b, "link_type": "SELF" if a == b else "XGMI", "num_hops": 1} for b in (0, 1)]}
        for a in (0, 1)
    ]
)
ROCM = json.dumps(
    {
        **{
            f"card{number}": {
                "PCI Bus": bus.upper(),
                "Unique ID": f"0xABCD00000000000{number}",
                "Serial Number": f"69000{number}",
                "VBIOS version": "113-M300-01",
                "VRAM Total Memory (B)": str(196592 * 1048576),
                "Max Graphics Package Power (W)": "700.0",
                "Card series": "AMD Instinct MI300X",
                "SMC firmware version": "00.85",
            }
            for number, bus in enumerate((FIRST, SECOND))
        },
        "system": {
            "Driver version": "6.12.1",
            "(Topology) Link type between DRM devices 0 and 1": "XGMI",
            "(Topology) Hops between DRM devices 0 and 1": "1",
        },
    }
)

INTEL_LIST = json.dumps(
    {"device_list": [{"device_id": n, "pci_bdf_address": bus} for n, bus in enumerate((FIRST, SECOND))]}
)


def intel_device(number: int) -> str:
    """``xpu-smi discovery -d N -j`` of version 1.2."""
    return json.dumps(
        {
            "device_name": "Intel(R) Data Center GPU Max 1550",
            "uuid": f"00000000-0000-00{number}8-0000-002f0bd58086",
            "serial_number": f"LQAC0000{number}",
            "memory_physical_size_byte": "137438953472",
            "number_of_tiles": "2",
            "gfx_firmware_version": "PVC2_1.23263",
            "driver_version": "I915_23.10.32",
        }
    )


def intel_text(number: int) -> str:
    """The same as the table of version 2."""
    lines = [
        "Device Name: Intel(R) Data Center GPU Max 1550",
        f"SOC UUID: 00000000-0000-00{number}8-0000-002f0bd58086",
        f"Serial Number: LQAC0000{number}",
        "Memory Physical Size: 131072.00 MiB",
        "Number of Tiles: 2",
        "GFX Firmware Version: PVC2_1.23263",
        "Driver Version: I915_23.10.32",
    ]
    return "+-----+\n" + "".join(f"| {number}   | {line:<60} |\n" for line in lines) + "+-----+\n"


def table(title: str, name: str, watts: str, mib: str) -> str:
    """The table that hl-smi and xpu-smi 2 print."""
    rows = "".join(
        f"|   {n}  {name}              N/A  | {bus}     N/A |                   0  |\n"
        f"| N/A   43C   N/A   264W / {watts}W |    672MiB / {mib}MiB |     0%           N/A|\n"
        for n, bus in enumerate((FIRST, SECOND))
    )
    return f"{title}|----+----|\n{rows}|----+----|\n"


HABANA = table(
    "| HL-SMI Version:   hl-1.18.0-fw-53.1.1.1 |\n| Driver Version:   1.18.0-ee698fb |\n", "HL-325", "900", "131072"
)
HABANA_IDS = "".join(f"{bus}, 01P4-HL3{n}, AM0000{n}, Enabled\n" for n, bus in enumerate((FIRST, SECOND)))
HABANA_ASKED = "-Q bus_id,uuid,serial,ecc.mode.current -f csv,noheader"
HABANA_PORTS = "port  0:\tUP\nport  1:\tDOWN\nport 10:\tUP\n"
