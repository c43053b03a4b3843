using RedKite.Aspire.Hosting;

namespace Aspire.Hosting.ApplicationModel;

/// <summary>
/// A RedKite server of an Aspire application: the program <c>redkite</c> on this machine. Its connection string is understood by every Redis
/// client of .NET: <c>localhost:port,password=secret</c>.
/// </summary>
[AspireExport]
public sealed class RedKiteResource : ExecutableResource, IResourceWithConnectionString
{
    internal const string DataEndpointName = "tcp";
    internal const string DashboardEndpointName = "dashboard";

    /// <summary>A server that is not part of an application yet.</summary>
    /// <param name="name">The resource's name, by which others refer to it.</param>
    /// <param name="program">The program and the arguments in front of the server's.</param>
    /// <param name="workingDirectory">Where the program is started.</param>
    internal RedKiteResource(string name, RedKiteProgram program, string workingDirectory) : base(name, program.Command, workingDirectory)
    {
        Program = program;
        PrimaryEndpoint = new EndpointReference(this, DataEndpointName);
        DashboardEndpoint = new EndpointReference(this, DashboardEndpointName);
    }

    /// <summary>The endpoint for Redis clients.</summary>
    public EndpointReference PrimaryEndpoint { get; }

    /// <summary>The endpoint of the dashboard, a page for browsers on this machine.</summary>
    public EndpointReference DashboardEndpoint { get; }

    /// <summary>The default user's password; null: it needs none.</summary>
    public ParameterResource? PasswordParameter { get; internal set; }

    /// <inheritdoc/>
    public ReferenceExpression ConnectionStringExpression => PasswordParameter is null
        ? ReferenceExpression.Create($"{PrimaryEndpoint.Property(EndpointProperty.HostAndPort)}")
        : ReferenceExpression.Create($"{PrimaryEndpoint.Property(EndpointProperty.HostAndPort)},password={PasswordParameter}");

    /// <summary>Whether clients have an endpoint already. By a reference of its own, because a reference that was asked too early goes on saying no.</summary>
    internal bool HasEndpoint => new EndpointReference(this, DataEndpointName).IsAllocated;

    internal RedKiteProgram Program { get; set; }

    /// <summary>The folder of the data; null: nothing is kept.</summary>
    internal string? DataFolder { get; set; }

    /// <summary>Whether it is a node of a cluster.</summary>
    internal bool IsNode { get; init; }
}
