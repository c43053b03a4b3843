using RedKite.Json;
using RedKite.Sketches;
using RedKite.TimeSeries;

namespace RedKite.Server;

/// <summary>The types of values that projects beside the core bring. They are added before a file is read or a server is made.</summary>
internal static class ServerTypes
{
    // The type's initializer runs once.
    static ServerTypes()
    {
        JsonTypes.Add();
        SketchTypes.Add();
        TimeSeriesService.Add();
    }

    /// <summary>Adds them to the process, if it was not done.</summary>
    internal static void Add() => System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor(typeof(ServerTypes).TypeHandle);
}
