using RedKite.Server.Migration;

namespace RedKite.Server.Diagnostics;

/// <summary>The counters of MIGRATE.</summary>
internal readonly record struct MigrationFigures
{
    internal MigrationFigures(MigrationService migrations)
    {
        Keys = migrations.Keys;
        Transfers = migrations.Transfers;
        Failures = migrations.Failures;
    }

    internal long Keys { get; }

    internal long Transfers { get; }

    internal long Failures { get; }
}
