using Aspire.Hosting.ApplicationModel;

namespace RedKite.Aspire.Hosting;

/// <summary>An etcd of one member, in which the nodes of a cluster agree: the program <c>etcd</c> of this machine.</summary>
internal sealed class EtcdResource : ExecutableResource
{
    internal const string ClientEndpointName = "client";
    internal const string PeerEndpointName = "peer";

    internal EtcdResource(string name, string program, string workingDirectory) : base(name, program, workingDirectory)
    {
        Client = new EndpointReference(this, ClientEndpointName);
        Peer = new EndpointReference(this, PeerEndpointName);
    }

    internal EndpointReference Client { get; }

    internal EndpointReference Peer { get; }

    internal void AddArguments(IList<object> arguments, string folder)
    {
        ReferenceExpression client = ReferenceExpression.Create($"http://127.0.0.1:{Client.Property(EndpointProperty.TargetPort)}"), peer = ReferenceExpression.Create($"http://127.0.0.1:{Peer.Property(EndpointProperty.TargetPort)}");
        foreach (object argument in (object[])
        [
            "--data-dir", folder, "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", ReferenceExpression.Create($"default={peer}"), "--log-level", "warn",
        ])
        {
            arguments.Add(argument);
        }
    }
}
